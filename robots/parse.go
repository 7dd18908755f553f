package robots

import (
	"crypto/sha256"
	"math/bits"
	"strings"
	"time"
)

// Parse reads a robots.txt for one crawler. It never fails: it uses the readable lines and passes over the rest (RFC
// 9309 2.3.1.5). A body over MaxBody is cut at its last whole line. The policy does not retain body.
func Parse(body []byte, o Options) *Policy {
	if !o.Standard.inRecords() {
		o.Standard = RFC9309
	}
	p := newParser(body, o)
	p.parse()
	binding := &p.all
	if p.own.name != "" {
		binding = &p.own
	}
	p.file.notes = binding.notes
	return &Policy{
		token:    o.Token,
		standard: o.Standard,
		digest:   sha256.Sum256(body),
		named:    p.own.name != "",
		group:    binding.name,
		names:    p.names,
		rules:    newRuleset(p.text+string(p.spelled), p.rules, o.Standard),
		wait:     p.own.delay.or(p.all.delay),
		rate:     p.own.rate.or(p.all.rate),
		more:     p.file.orNil(),
	}
}

// parser reads a file once and keeps only records that may bind the crawler: those of groups that name it, and those
// of "*" until such a group comes.
type parser struct {
	token    string
	standard Standard
	text     string
	spelled  []byte // patterns whose canonical spelling differs from the file's, for spans beyond text
	rules    []rule
	names    []string // of the agent lines of the groups of rules
	file     records
	own, all groups // all is those of "*"

	// The current group.
	heading      bool // only agent lines have come so far, and other records
	inOwn, inAll bool // it names the crawler; it names "*"
	binds        bool // its rules are kept
	name         int32
}

func newParser(body []byte, o Options) parser {
	p := parser{token: o.Token, standard: o.Standard, text: textOf(body)}
	if ValidToken(p.token) != nil {
		p.token = "" // no line names it
	}
	return p
}

// groups are the merged groups of one name (RFC 9309 2.2.1).
type groups struct {
	name  string // as first written; empty before that
	value string // as written in the current record, which may yet bind
	delay delay
	rate  delay
	notes notes
}

func (p *parser) parse() {
	comments := strings.IndexByte(p.text, '#') >= 0
	for l := newLines(p.text); ; {
		line, ok := l.next()
		if !ok {
			return
		}
		content := line
		if comments {
			content = line.withoutComment(p.text)
		}
		r, ok := read(p.text, content)
		if !ok {
			if p.standard.inRecords() && line.trim(p.text).len() == 0 {
				p.heading, p.inOwn, p.inAll, p.binds = false, false, false, false // a blank line ends the record
			}
			continue
		}
		if r.field == allow || r.field == disallow {
			p.rule(r, l.number)
		} else if r.field != unknown {
			p.record(r)
		}
	}
}

// record reads a line of any other field.
func (p *parser) record(r record) {
	value := r.value.in(p.text)
	if hasControl(value) {
		value = "" // an invalid value is ignored (RFC 9309 3)
	}
	switch r.field {
	case userAgent:
		p.agent(value)
	case crawlDelay:
		p.delay(readDelay(value), delay{})
	case requestRate:
		p.delay(delay{}, readRate(value))
	case sitemap:
		p.file.sitemaps = appendValue(p.file.sitemaps, value)
	case license:
		p.file.licenses = appendValue(p.file.licenses, value)
	default:
		if p.inOwn {
			p.own.notes.add(r.field, value)
		}
		if p.inAll {
			p.all.notes.add(r.field, value)
		}
	}
}

// agent reads a user-agent line. After a rule it begins a group, whatever its value.
func (p *parser) agent(value string) {
	if !p.heading {
		p.heading, p.inOwn, p.inAll, p.binds = true, false, false, false
	}
	token := leadingToken(value)
	own := token != "" && strings.EqualFold(token, p.token) // RFC 9309 2.2.1
	if p.standard.inRecords() {
		own = p.names1996(value)
	}
	switch {
	case own:
		if !p.inOwn {
			p.inOwn = true
			p.register(&p.own, value)
		}
	case isStar(value):
		if !p.inAll {
			p.inAll = true
			p.register(&p.all, value)
		}
	}
}

// isStar reports whether the value of a user-agent line is "*", perhaps with text after a blank.
func isStar(value string) bool {
	return value == "*" || strings.HasPrefix(value, "* ") || strings.HasPrefix(value, "*\t")
}

// register records that the group names the crawler, or "*". Under RFC 9309 that binds at once: all groups of a name
// are merged, and those of "*" are forgotten once a group names the crawler (2.2.1). A record of the older standards
// binds with its first rule; see begin.
func (p *parser) register(g *groups, value string) {
	if p.standard.inRecords() {
		g.value = value
		return
	}
	if g.name == "" {
		g.name = value
		if g == &p.own {
			p.rules, p.names, p.binds = p.rules[:0], nil, false
		}
	}
	if !p.binds && (g == &p.own || p.own.name == "") {
		p.enter(value)
	}
}

// enter begins to keep the rules of the group, under a name.
func (p *parser) enter(name string) {
	p.binds = true
	p.names = append(p.names, name)
	p.name = int32(len(p.names) - 1)
}

// rule reads an Allow or Disallow line. Any ends the list of agents, even without a usable path.
func (p *parser) rule(r record, line int) {
	if r.field == allow && p.standard == Std1994 {
		return // "Unrecognised headers are ignored."
	}
	if p.heading && p.standard.inRecords() {
		p.begin()
	}
	p.heading = false
	value := r.value.in(p.text)
	if !p.binds || value == "" || value[0] != '/' && (value[0] != '*' || p.standard.inRecords()) {
		return // such a rule matches no path
	}
	pattern := r.value
	if !isCanonicalPattern(value, p.standard) {
		if hasControl(value) {
			return
		}
		pattern.from = uint32(len(p.text) + len(p.spelled))
		p.spelled = appendPattern(p.spelled, value, p.standard)
		pattern.to = uint32(len(p.text) + len(p.spelled))
	}
	if p.rules == nil {
		p.rules = make([]rule, 0, mostRules(p.text[r.value.to:]))
	}
	p.rules = append(p.rules, rule{
		written: r.written,
		pattern: pattern,
		line:    int32(line),
		group:   p.name,
		parent:  -1,
		allow:   r.field == allow,
	})
}

// mostRules returns an upper bound of the rules in a text: at most one for each line, none shorter than "allow:/" with
// its end. A file that mixes its line ends may hold more.
func mostRules(text string) int {
	n := strings.Count(text, "\n")
	if n == 0 {
		n = strings.Count(text, "\r")
	}
	return min(n, len(text)/len("allow:/\n")) + 1
}

// delay gives a Crawl-delay and a Request-rate to the agents that the group has named so far. It does not end their
// list: RFC 9309 2.2.4 forbids other records to interfere.
func (p *parser) delay(wait, rate delay) {
	if p.inOwn {
		p.own.delay, p.own.rate = p.own.delay.longer(wait), p.own.rate.longer(rate)
	}
	if p.inAll {
		p.all.delay, p.all.rate = p.all.delay.longer(wait), p.all.rate.longer(rate)
	}
}

func (n *notes) add(f field, value string) {
	switch f {
	case visitTime:
		n.visitTimes = appendValue(n.visitTimes, value)
	case contentUsage:
		n.usages = appendValue(n.usages, value)
	case contentSignal:
		n.signals = appendValue(n.signals, value)
	}
}

// orNil returns the records for a Policy to keep, nil when there are none.
func (r *records) orNil() *records {
	if r.visitTimes == nil && r.usages == nil && r.signals == nil && r.sitemaps == nil && r.licenses == nil {
		return nil
	}
	out := *r
	return &out
}

func appendValue(all []string, value string) []string {
	if value == "" {
		return all
	}
	return append(all, value)
}

// The standards before RFC 9309 divide a file into records by blank lines. One record binds: the first that names the
// crawler, or else the first of "*" (1996 3.2.1). An agent line after a rule also begins a record, as in libwww-perl. A
// record without a rule does not count, since both documents demand one; passing over it never permits more.

// names1996 reports whether the value of a user-agent line contains the crawler's name.
func (p *parser) names1996(value string) bool {
	n := len(p.token)
	for i := 0; i+n <= len(value) && n > 0; i++ {
		if strings.EqualFold(value[i:i+n], p.token) {
			return true
		}
	}
	return false
}

// begin decides at the first rule of a record whether the record binds, until a better one comes.
func (p *parser) begin() {
	switch {
	case p.inOwn && p.own.name == "":
		p.own.name, p.rules, p.names = p.own.value, p.rules[:0], nil
		p.enter(p.own.value)
	case p.inAll && p.all.name == "":
		p.all.name = p.all.value
		if p.own.name == "" {
			p.enter(p.all.value)
		}
	}
}

// lines iterates over the lines of a text, which end in CR, LF or CRLF, even mixed (RFC 9309 2.2, NL).
type lines struct {
	text   string
	pos    int // start of the next line
	cr, lf int // the first of each at or after pos; len(text) without one
	number int // of the last line, from 1
}

func newLines(text string) lines {
	return lines{text: text, pos: len(text) - len(strings.TrimPrefix(text, byteOrderMark)), cr: -1, lf: -1}
}

// next returns the next line without its end. It scans each byte once for CR and once for LF: the position of either is
// kept while the other comes before it.
func (l *lines) next() (line span, ok bool) {
	if l.pos >= len(l.text) {
		return span{}, false
	}
	if l.cr < l.pos {
		l.cr = l.find('\r')
	}
	if l.lf < l.pos {
		l.lf = l.find('\n')
	}
	l.number++
	line = span{uint32(l.pos), uint32(min(l.cr, l.lf))}
	l.pos = int(line.to) + 1
	if l.cr+1 == l.lf {
		l.pos = l.lf + 1
	}
	return line, true
}

// find returns the position of c at or after pos, or len(text).
func (l *lines) find(c byte) int {
	if i := strings.IndexByte(l.text[l.pos:], c); i >= 0 {
		return l.pos + i
	}
	return len(l.text)
}

// record is one line with a field and its value.
type record struct {
	field     field
	key       span // without surrounding white space
	value     span // without surrounding white space; may be empty
	written   span // the line without surrounding white space and comment
	forgotten bool // the colon is missing
}

func (s span) withoutComment(text string) span {
	if i := strings.IndexByte(s.in(text), '#'); i >= 0 {
		s.to = s.from + uint32(i)
	}
	return s
}

// read parses a line without its comment. It accepts a line without a colon if it is a known field and one more word: a
// missed Disallow is the worse error.
func read(text string, line span) (r record, ok bool) {
	r.written = line.trim(text)
	if r.written.len() == 0 {
		return r, false
	}
	i := strings.IndexByte(r.written.in(text), ':')
	if r.forgotten = i < 0; r.forgotten {
		i = strings.IndexAny(r.written.in(text), " \t")
	}
	if i < 0 {
		return r, false
	}
	colon := r.written.from + uint32(i)
	r.key, r.value = span{r.written.from, colon}.trim(text), span{colon + 1, r.written.to}.trim(text)
	r.field = fieldOf(r.key.in(text))
	return r, !r.forgotten || r.field != unknown && !strings.ContainsAny(r.value.in(text), " \t")
}

type field uint8

const (
	unknown field = iota
	userAgent
	allow
	disallow
	crawlDelay
	requestRate
	visitTime
	contentUsage  // draft-ietf-aipref-attach
	contentSignal // contentsignals.org
	sitemap
	license // Really Simple Licensing
)

var fieldNames = [...]string{"", "User-agent", "Allow", "Disallow", "Crawl-delay", "Request-rate", "Visit-time",
	"Content-Usage", "Content-Signal", "Sitemap", "License"}

func (f field) String() string { return fieldNames[f] }

// spellings are the fields by their names in lower case, with common misspellings (those of google/robotstxt, and
// Crawldelay).
var spellings = map[string]field{
	"user-agent": userAgent, "useragent": userAgent, "user agent": userAgent,
	"allow":    allow,
	"disallow": disallow, "dissallow": disallow, "dissalow": disallow, "disalow": disallow, "diasllow": disallow,
	"disallaw":    disallow,
	"crawl-delay": crawlDelay, "crawldelay": crawlDelay,
	"request-rate": requestRate, "visit-time": visitTime,
	"content-usage": contentUsage, "content-signal": contentSignal,
	"sitemap": sitemap, "site-map": sitemap, "license": license,
}

// fieldOf returns the field of a name in any case. It compares whole names: "Disallowed" is unknown.
func fieldOf(name string) field {
	var small [len("content-signal")]byte
	if len(name) > len(small) {
		return unknown
	}
	for i := range len(name) {
		if small[i] = name[i]; 'A' <= name[i] && name[i] <= 'Z' {
			small[i] += 'a' - 'A'
		}
	}
	return spellings[string(small[:len(name)])]
}

const maxDelay = 365 * 24 * time.Hour // longer delays count as this

// delay is a time that may be missing.
type delay struct {
	d  time.Duration
	ok bool
}

func (a delay) longer(b delay) delay { return delay{max(a.d, b.d), a.ok || b.ok} }

// or returns a, or b when a is not given.
func (a delay) or(b delay) delay {
	if a.ok {
		return a
	}
	return b
}

// readDelay reads the value of a Crawl-delay: decimal digits, perhaps a point and more digits, then the end, white
// space or a unit (s, m, h, d; seconds without one). Anything else, like "-5", "nan", "1/10" or ".5", is invalid.
func readDelay(value string) delay {
	d, rest, ok := readSeconds(value)
	if !ok {
		return delay{}
	}
	if rest == "" {
		return delay{d, true}
	}
	switch rest[0] {
	case ' ', '\t', 's', 'S':
		return delay{d, true}
	case 'm', 'M':
		return delay{scale(d, 60), true}
	case 'h', 'H':
		return delay{scale(d, 60*60), true}
	case 'd', 'D':
		return delay{scale(d, 24*60*60), true}
	}
	return delay{}
}

// readRate reads the value of a Request-rate, "n/t" with a unit after t as in readDelay, as the delay t/n, rounded up.
// A time of day after it, which some files have, is ignored.
func readRate(value string) delay {
	count, period, _ := strings.Cut(value, "/")
	n, rest := leadingDigits(strings.Trim(count, " \t"))
	t := readDelay(strings.Trim(period, " \t"))
	if n == 0 || rest != "" || !t.ok {
		return delay{}
	}
	d := t.d / time.Duration(n)
	if t.d%time.Duration(n) > 0 {
		d++
	}
	return delay{d, true}
}

// readSeconds reads digits[.digits] at the start of s as seconds, rounded up to a nanosecond.
func readSeconds(s string) (d time.Duration, rest string, ok bool) {
	n, rest := leadingDigits(s)
	if len(rest) == len(s) {
		return 0, s, false
	}
	d = scale(time.Second, n)
	if rest == "" || rest[0] != '.' {
		return d, rest, true
	}
	fraction := rest[1:]
	rest = strings.TrimLeft(fraction, "0123456789")
	fraction = fraction[:len(fraction)-len(rest)]
	if fraction == "" {
		return 0, s, false
	}
	unit := time.Second
	for i := range len(fraction) {
		unit /= 10
		d += unit * time.Duration(fraction[i]-'0')
		if unit == 0 && fraction[i] != '0' {
			d++
			break
		}
	}
	return min(d, maxDelay), rest, true
}

func scale(d time.Duration, n uint64) time.Duration {
	if hi, lo := bits.Mul64(uint64(d), n); hi == 0 && lo < uint64(maxDelay) {
		return time.Duration(lo)
	}
	return maxDelay
}

// leadingDigits reads the decimal number at the start of s, at most 1<<62; rest is s without one.
func leadingDigits(s string) (n uint64, rest string) {
	for s != "" && '0' <= s[0] && s[0] <= '9' {
		if n < 1<<58 {
			n = n*10 + uint64(s[0]-'0')
		} else {
			n = 1 << 62
		}
		s = s[1:]
	}
	return n, s
}
