package robots

import "crypto/sha256"

// File is everything that a robots.txt says, to whomever: what people who write one want to see. ParseAll makes it.
// To judge a target takes a Policy.
type File struct {
	Groups   []Group
	Sitemaps []Record
	Licenses []Record
	Unknown  []Record  // records of other fields, and those that need a group and stand before the first
	Warnings []Warning // in the order of the lines
	Flags    Flags
	Lines    int      // of the part that was read
	Digest   [32]byte // SHA-256 of the body, all of it
}

// Group is a run of user-agent lines and what is said to them (RFC 9309 2.1). Groups of one product token bind it
// together (2.2.1); here they stand as in the file.
type Group struct {
	Agents         []Record // none when the lines that name them are invalid: the group is nobody's
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
	Line, Column int // of the path, from 1; columns count octets
}

// Record is a line of another field. Key and Value are as written.
type Record struct {
	Key, Value   string
	Line, Column int // of the value, from 1; columns count octets
}

// ParseAll reads a robots.txt by the grammar of RFC 9309 2.2, with the leniencies of Parse, and says what is wrong with
// it. Like Parse it never fails, and it keeps nothing of body. Lines with a value that is invalid are warned of and not
// in the File.
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
	l.finish()
	return l.file
}

// linter goes through a file once, as parser does, but keeps everything.
type linter struct {
	text   string
	file   *File
	wide   bool // the file is in UTF-16
	number int  // of the line that is being read
	start  span // that line
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

// record files one record under its group, or with the file.
func (l *linter) record(r record) {
	if !l.legible(r) {
		switch r.field {
		case allow, disallow:
			l.heading = false
		case userAgent:
			l.begin() // of agents that are not known: the rules that follow are not those of the group above
		}
		return
	}
	out := l.recordOf(r)
	switch r.field {
	case userAgent:
		l.agent(r, out)
		return
	case sitemap:
		l.file.Sitemaps = append(l.file.Sitemaps, out)
		l.checkSitemap(r)
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

// agent reads a User-agent line, which begins a group unless only such lines have come since the last one did.
func (l *linter) agent(r record, out Record) {
	l.begin()
	if l.delayed {
		l.warn(r.written, "delay-between-agents", "the delay above applies to the agents above it, not to %s: write it below all User-agent lines of the group", quote(out.Value))
		l.delayed = false
	}
	l.group.Agents = append(l.group.Agents, out)
	l.checkAgent(r)
}

func (l *linter) begin() {
	if l.heading {
		return
	}
	l.file.Groups = append(l.file.Groups, Group{})
	l.group = &l.file.Groups[len(l.file.Groups)-1]
	l.heading, l.delayed = true, false
}

func (l *linter) recordOf(r record) Record {
	return Record{
		Key:    string([]byte(r.key.in(l.text))), // a copy, so that a short value does not keep the whole file
		Value:  string([]byte(r.value.in(l.text))),
		Line:   l.number,
		Column: l.column(r.value.from),
	}
}

func (l *linter) column(at uint32) int { return int(at-l.start.from) + 1 }
