package robots

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// File is the whole content of a robots.txt, for its authors. ParseAll makes it. Judging a target takes a Policy.
type File struct {
	Groups   []Group
	Sitemaps []Record
	Licenses []Record
	Unknown  []Record  // records of other fields, and those that need a group and come before the first
	Warnings []Warning // in the order of the lines
	Flags    Flags
	Lines    int      // of the part that was read
	Digest   [32]byte // SHA-256 of the whole body
}

// Group is a run of user-agent lines with their records (RFC 9309 2.1). Groups of one product token bind it together
// (2.2.1); here they are separate.
type Group struct {
	Agents         []Record // none when the lines that name them are invalid: the group binds nobody
	Rules          []Rule
	CrawlDelays    []Record
	RequestRates   []Record
	VisitTimes     []Record
	ContentUsages  []Record
	ContentSignals []Record
}

// Rule is an Allow or Disallow line. Path is as written; one that begins with neither "/" nor "*" matches nothing.
type Rule struct {
	Allow        bool
	Path         string
	Line, Column int // of the path, from 1; columns count bytes
}

// Record is a line of another field. Key and Value are as written.
type Record struct {
	Key, Value   string
	Line, Column int // of the value, from 1; columns count bytes
}

// ParseAll reads a robots.txt by the grammar of RFC 9309 2.2, with the leniencies of Parse, and warns of faults. Like
// Parse it never fails, and it does not retain body. Lines with an invalid value are not in the File.
func ParseAll(body []byte) *File {
	l := linter{
		text: textOf(body), wide: utf16Order(body) != nil,
		file: &File{Flags: flagsOf(Exchange{Body: body}), Digest: sha256.Sum256(body)},
	}
	l.parse()
	if len(body) > MaxBody {
		l.warnAt(l.file.Lines+1, 1, "oversize", "the file is longer than %d bytes; a crawler with the limit of RFC 9309 2.5 reads nothing after line %d: shorten it", MaxBody, l.file.Lines)
	}
	l.judge()
	slices.SortStableFunc(l.file.Warnings, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if l.more > 0 {
		l.file.Warnings = append(l.file.Warnings,
			Warning{max(l.file.Lines, 1), 1, "more", fmt.Sprintf("%d more warnings are left out: fix these first", l.more)})
	}
	return l.file
}

// linter reads a file once, as parser does, but keeps everything.
type linter struct {
	text   string
	file   *File
	wide   bool // the file is in UTF-16
	number int  // of the current line
	start  span // the current line
	more   int  // warnings beyond maxWarnings

	group   *Group // the last one; nil before the first
	heading bool   // only agent lines have come so far, and other records
	delayed bool   // and one of these is a Crawl-delay or Request-rate
}

func (l *linter) parse() {
	l.first()
	all := newLines(l.text)
	for {
		line, ok := all.next()
		if !ok {
			return
		}
		l.number, l.start, l.file.Lines = all.number, line, all.number
		r, ok := read(l.text, line.withoutComment(l.text))
		switch {
		case ok:
			l.record(r)
		case r.written.len() > 0 && l.file.Flags&(HTML|Binary) == 0:
			l.warn(r.written, "missing-colon", "%s is not a record: write a field, a colon and a value, or start the line with # if it is a comment", quote(r.written.in(l.text)))
		}
	}
}

func (l *linter) record(r record) {
	if !l.legible(r) {
		switch r.field {
		case allow, disallow:
			l.heading = false
		case userAgent:
			l.begin() // of unknown agents: the rules that follow are not those of the group above
		}
		return
	}
	out := Record{ // with copies, so that a short value does not keep the whole file
		Key: strings.Clone(r.key.in(l.text)), Value: strings.Clone(r.value.in(l.text)),
		Line: l.number, Column: l.column(r.value.from),
	}
	switch r.field {
	case userAgent:
		l.begin()
		if l.delayed {
			l.warn(r.written, "delay-between-agents", "the delay above applies to the agents above it, not to %s: write it below all User-agent lines of the group", quote(out.Value))
			l.delayed = false
		}
		l.group.Agents = append(l.group.Agents, out)
		l.checkAgent(r)
		return
	case sitemap:
		l.file.Sitemaps = append(l.file.Sitemaps, out)
		if u, err := url.Parse(out.Value); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
			l.warn(r.value, "bad-sitemap", "%s is not an absolute URL, and most crawlers ignore it: write it with http:// or https:// and the host", quote(out.Value))
		}
		return
	case license:
		l.file.Licenses = append(l.file.Licenses, out)
		return
	case unknown:
		l.file.Unknown = append(l.file.Unknown, out)
		l.checkUnknown(r)
		return
	}
	if l.group == nil {
		l.file.Unknown = append(l.file.Unknown, out)
		if r.field == allow || r.field == disallow {
			l.warn(r.written, "rule-before-agent", "the rule applies to no crawler, because no User-agent line precedes it (RFC 9309 2.2.2): write \"User-agent: *\" above it")
		} else {
			l.warn(r.written, "record-before-agent",
				"%v applies to no crawler, because no User-agent line precedes it: write \"User-agent: *\" above it", r.field)
		}
		return
	}
	switch g := l.group; r.field {
	case allow, disallow:
		l.heading = false
		g.Rules = append(g.Rules, Rule{Allow: r.field == allow, Path: out.Value, Line: out.Line, Column: out.Column})
		l.checkPath(r)
	case crawlDelay:
		g.CrawlDelays = append(g.CrawlDelays, out)
		l.delayed = l.delayed || l.heading
		l.checkDelay(r, readDelay(out.Value), "bad-crawl-delay", "a number of seconds, like 10 or 0.5")
	case requestRate:
		g.RequestRates = append(g.RequestRates, out)
		l.delayed = l.delayed || l.heading
		l.checkDelay(r, readRate(out.Value), "bad-request-rate", "a number of requests and a time, like 1/5 or 30/1m")
	case visitTime:
		g.VisitTimes = append(g.VisitTimes, out)
	case contentUsage:
		g.ContentUsages = append(g.ContentUsages, out)
	case contentSignal:
		g.ContentSignals = append(g.ContentSignals, out)
	}
}

// begin begins a group unless only agent lines have come since the last one did.
func (l *linter) begin() {
	if l.heading {
		return
	}
	l.file.Groups = append(l.file.Groups, Group{})
	l.group = &l.file.Groups[len(l.file.Groups)-1]
	l.heading, l.delayed = true, false
}

func (l *linter) column(at uint32) int { return int(at-l.start.from) + 1 }

// first warns about the file as a whole.
func (l *linter) first() {
	f := l.file.Flags
	if f&BOM != 0 {
		l.warnAt(1, 1, "bom", "the file begins with a byte order mark; curtsy ignores it, other crawlers read it as part of the first line: save the file as UTF-8 without one")
	}
	if l.wide {
		l.warnAt(1, 1, "utf-16",
			"the file is in UTF-16; curtsy reads it, but most crawlers cannot: save it as UTF-8 (RFC 9309 2.3)")
	}
	switch {
	case f&HTML != 0:
		l.warnAt(1, 1, "html", "the file looks like HTML, where only lines that look like records count: serve plain text, or status 404 if there is no robots.txt")
	case f&Binary != 0:
		l.warnAt(1, 1, "binary", "the file looks like no text: serve plain text in UTF-8")
	}
}

// legible warns about a line as such, and reports whether its value is valid.
func (l *linter) legible(r record) bool {
	written, value := r.written.in(l.text), r.value.in(l.text)
	for i := 0; i < len(value); i++ {
		if octets[value[i]]&control != 0 {
			l.warn(span{from: r.value.from + uint32(i)}, "control-octet",
				"the line is ignored, because byte %#02x is not allowed in a value (RFC 9309 2.2): remove it", value[i])
			return false
		}
	}
	if !utf8.ValidString(written) {
		i := strings.IndexFunc(written, func(c rune) bool { return c == utf8.RuneError })
		l.warn(span{from: r.written.from + uint32(i)}, "invalid-utf8",
			"the line is not UTF-8, and is compared byte by byte: save the file as UTF-8, or escape these bytes as %%XX")
	}
	if rest := l.text[r.written.to:l.start.to]; strings.HasPrefix(rest, "#") && r.value.len() > 0 {
		l.warn(span{from: r.written.to}, "comment-in-value",
			"the value ends at #, which begins a comment: write %%23 if it is part of the value, or put a space before it")
	}
	right := r.field.String()
	switch {
	case r.field == unknown:
	case r.forgotten:
		l.warn(r.key, "missing-colon", "%s is read as %q, but not by every crawler: write a colon after the field", quote(written),
			right+": "+clip(value))
	case !strings.EqualFold(r.key.in(l.text), right):
		l.warn(r.key, "typo-key", "%s is read as %s, but not by every crawler: write %s", quote(r.key.in(l.text)), right, right)
	}
	return true
}

func clip(s string) string { return s[:min(len(s), quoted)] }

func (l *linter) checkAgent(r record) {
	value := r.value.in(l.text)
	token := leadingToken(value)
	if isStar(value) {
		token = "*"
	}
	rest := value[len(token):]
	_, next, _ := strings.Cut(strings.Replace(rest, ";", ",", 1), ",")
	if rest != "" && isBlank(rest[0]) && next == "" {
		next = rest
	}
	next = strings.TrimLeft(next, " \t")
	switch {
	case token == "":
		l.warn(r.value, "bad-agent", "%s names no crawler: write a product token, which has only letters, \"_\" and \"-\" (RFC 9309 2.2.1), or \"*\" for all", quote(value))
	case rest == "":
	case next != "" && (octets[next[0]]&inToken != 0 || next[0] == '*'):
		l.warn(span{from: r.value.to - uint32(len(next))}, "two-agents-on-a-line",
			"only %q is named, and %s is ignored: write a User-agent line for each", clip(token), quote(next))
	default:
		l.warn(span{from: r.value.to - uint32(len(rest))}, "version-in-agent",
			"only %q counts, and %s is ignored: write only the product token (RFC 9309 2.2.1)", clip(token), quote(rest))
	}
}

func (l *linter) checkPath(r record) {
	path := r.value.in(l.text)
	if path == "" {
		return
	}
	if path[0] != '/' && path[0] != '*' {
		l.warn(r.value, "no-slash", "the rule matches nothing, because a path begins with \"/\": write \"%v: /%s\"", r.field,
			clip(path))
		return
	}
	if i := strings.IndexAny(path, " \t"); i >= 0 {
		l.warn(span{from: r.value.from + uint32(i)}, "blank-in-path",
			"the white space is read as %%20, part of one path: write %%20, or a line for each path")
	}
	if i := strings.IndexByte(path, '$'); i >= 0 && i < len(path)-1 {
		l.warn(span{from: r.value.from + uint32(i)}, "dollar-in-path",
			"a \"$\" that is not last matches itself (RFC 9309 2.2.3): write %%24 if you mean that")
	}
	if len(path) > 1 && path[len(path)-1] == '*' {
		l.warn(span{from: r.value.to - 1}, "star-at-end",
			"a path matches everything that begins with it, so a final \"*\" only makes the rule longer: write %q",
			strings.TrimRight(clip(path), "*"))
	}
}

func (l *linter) checkDelay(r record, d delay, code, want string) {
	if !d.ok {
		l.warn(r.value, code, "%s is ignored, because it is not a valid %v: write %s", quote(r.value.in(l.text)), r.field, want)
	}
}

func (l *linter) checkUnknown(r record) {
	if l.file.Flags&(HTML|Binary) != 0 || len(l.file.Warnings) == maxWarnings {
		return
	}
	key := r.key.in(l.text)
	for _, name := range fieldNames[unknown+1:] {
		if near(strings.ToLower(clip(key)), strings.ToLower(name)) {
			l.warn(r.key, "unknown-key", "%s is ignored: did you mean %s?", quote(key), name)
			return
		}
	}
	l.warn(r.key, "unknown-key", "%s is ignored: RFC 9309 has no such field", quote(key))
}

// near reports whether a and b are at most two insertions, deletions or changes of a byte apart. Commands compare flags
// with another distance, outside of the standard library.
func near(a, b string) bool {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)] <= 2
}

// judge warns about whole groups.
func (l *linter) judge() {
	named := make(map[string]int) // in how many groups
	for _, g := range l.file.Groups {
		for _, name := range g.tokens() {
			named[name]++
		}
	}
	for _, g := range l.file.Groups {
		if len(g.Rules) == 0 && len(g.Agents) > 0 {
			a := g.Agents[0]
			l.warnAt(a.Line, a.Column, "empty-group",
				"the group has no rules, so it allows everything (RFC 9309 2.2.2): write an empty Disallow if you mean that")
		}
		unique := !slices.ContainsFunc(g.tokens(), func(name string) bool { return named[name] > 1 })
		l.compare(g.Rules, unique)
	}
}

// tokens returns the agents of the group, in lower case, each once.
func (g *Group) tokens() []string {
	var all []string
	for _, a := range g.Agents {
		if isStar(a.Value) {
			all = append(all, "*")
		} else if t := leadingToken(a.Value); t != "" {
			all = append(all, strings.ToLower(t))
		}
	}
	return each(all)
}

// compare warns of repeated rules of a group. Shadowed ones can only be found if its agents are named in no other
// group, whose rules would also bind them.
func (l *linter) compare(all []Rule, unique bool) {
	var text []byte
	var rules []rule
	lines := make(map[string][2]*Rule)
	for i := range all {
		r := &all[i]
		if r.Path == "" || r.Path[0] != '/' && r.Path[0] != '*' {
			continue
		}
		from := len(text)
		text = appendPattern(text, r.Path, RFC9309)
		pattern := string(text[from:])
		access := rule{allow: r.Allow}.access()
		before := lines[pattern]
		if same := before[access]; same != nil {
			l.warnAt(r.Line, r.Column, "duplicate-rule", "line %d is the same rule: remove one", same.Line)
			continue
		}
		if other := before[1-access]; other != nil {
			l.warnAt(r.Line, r.Column, "contradiction",
				"line %d is the opposite rule, and Allow wins (RFC 9309 2.2.2): remove one", other.Line)
		}
		before[access] = r
		lines[pattern] = before
		rules = append(rules,
			rule{pattern: span{uint32(from), uint32(len(text))}, line: int32(i), parent: -1, allow: r.Allow})
	}
	if unique {
		l.shadowed(all, newRuleset(string(text), rules, RFC9309))
	}
}

// shadowed warns of plain rules whose next shorter one has the same effect, unless a pattern of the other kind may come
// between the two.
func (l *linter) shadowed(all []Rule, s ruleset) {
	for _, r := range s.plain {
		if r.parent < 0 || s.plain[r.parent].allow != r.allow {
			continue
		}
		if slices.ContainsFunc(s.wild, func(w rule) bool { return w.allow != r.allow }) {
			continue
		}
		out, by := all[r.line], all[s.plain[r.parent].line]
		l.warnAt(out.Line, out.Column, "shadowed-rule",
			"the rule changes nothing, because line %d (%s) covers what it matches: remove it", by.Line, quote(by.Path))
	}
}

// Warning is a part of a robots.txt whose effect its author may not expect. Text states the ignored part, or how it
// was read, the reason, and a replacement. Code is stable, and one of these:
//
//	bom                   the file begins with a byte order mark, which is passed over
//	utf-16                the file is in UTF-16, which few read
//	html                  the file is, or looks like, HTML
//	binary                the file does not look like text
//	oversize              the file is longer than MaxBody
//	missing-colon         a line without a colon: read if it is a known field and one more word
//	typo-key              a misspelled field that some crawlers read nevertheless
//	unknown-key           a field that is passed over
//	control-octet         a value with a control octet, which makes the line invalid
//	invalid-utf8          octets that are not UTF-8, which are compared one by one
//	comment-in-value      a "#" within a value, which begins a comment
//	bad-agent             a User-agent that names nobody
//	version-in-agent      more than a product token, of which the rest is passed over
//	two-agents-on-a-line  several names, of which only the first counts
//	empty-group           a group without rules, which allows everything
//	rule-before-agent     a rule that binds nobody
//	record-before-agent   another record that binds nobody
//	delay-between-agents  a delay that applies only to some agents of its group
//	bad-crawl-delay       an invalid Crawl-delay
//	bad-request-rate      an invalid Request-rate
//	bad-sitemap           a Sitemap that is not an absolute URL
//	no-slash              a path that begins with neither "/" nor "*", and matches nothing
//	blank-in-path         a path with white space, which is read as %20
//	dollar-in-path        a "$" that is not last, and matches itself
//	star-at-end           a last "*", which matches nothing more
//	duplicate-rule        a repeated rule
//	contradiction         an Allow and a Disallow of one path, of which the Allow wins
//	shadowed-rule         a rule that changes no answer, because a shorter one has the same effect
//	more                  there are more warnings than a File keeps
type Warning struct {
	Line, Column int // from 1; columns count bytes
	Code         string
	Text         string
}

// maxWarnings bounds the warnings of a File: a hostile one could cause 100 bytes of warning for each two of the file.
const maxWarnings = 1000

const quoted = 60 // bytes of a line that a warning repeats

func (l *linter) warn(at span, code, format string, args ...any) {
	l.warnAt(l.number, l.column(at.from), code, format, args...)
}

func (l *linter) warnAt(line, column int, code, format string, args ...any) {
	if len(l.file.Warnings) == maxWarnings {
		l.more++
		return
	}
	l.file.Warnings = append(l.file.Warnings, Warning{line, column, code, fmt.Sprintf(format, args...)})
}

func quote(s string) string {
	if len(s) > quoted {
		return strconv.Quote(s[:quoted]) + "…"
	}
	return strconv.Quote(s)
}
