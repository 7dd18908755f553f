package audit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/pacing"
)

// records checks that an exchange has the records it should have (WARC 1.1; docs/reference/archives.md).
func (j *judge) records(e *evidence.Exchange) {
	if e.OtherHost() {
		j.found.Add(e.Finding(finding.BadRecord, "a request to the host of the record's URL (RFC 9112 3.2)",
			"it names "+strconv.Quote(finding.Short(e.Host))))
	}
	if !j.m.Ours() {
		j.sameStory(e)
		return
	}
	if lost := e.Damaged; lost.File != "" && lost.Record == "" { // it is the record that the exchange lacks
		f := e.Finding(finding.BadRecord, "the records of every request (archive reference)", "not even the head of one of them can be read")
		f.Place, f.Place.Record, f.Unreadable = lost, e.LeftOut, true
		j.found.Add(f)
		return
	}
	if wrong := e.Disagreement(); j.m.Ledger && wrong != "" {
		j.found.Add(e.Finding(finding.BadRecord,
			"request, response and metadata records are adjacent, name each other, and have one date, URL "+
				"and address (archive reference)", wrong))
	}
	if e.Line != nil {
		for _, w := range evidence.Troubles(e.Line, evidence.Answer{Status: e.Status, Whole: e.Answered && e.Cut == "",
			LeftOut: e.LeftOut != ""}) {
			f := e.Finding(finding.BadRecord, w.Required+" (ledger reference)",
				"the crawl recorded "+finding.Short(w.Said))
			if f.Place = e.LineAt; w.Field == "paceBy" {
				f.Code = finding.GapTold
			}
			j.found.Add(f)
		}
	}
	for _, f := range facts {
		if e.Line == nil || e.LeftOut != "" {
			break
		}
		if wrong := f.wrong(e, j.m.Info); wrong != "" {
			j.found.Add(e.Finding(finding.BadRecord, f.required, wrong))
		}
	}
	if f, differ := e.HeadsDiffer(); differ {
		j.found.Add(f)
	}
	if !e.HasMetadata && !(e.Last && evidence.Unfinished(e.File)) { // a kill may have come before it was written
		j.found.Add(e.Finding(finding.BadRecord, "a metadata record for every request (archive reference)",
			"a request without one"))
	}
	if !e.HasRequest {
		j.found.Add(e.Finding(finding.BadRecord, "a request record for every response (archive reference)",
			"a response without its request"))
	}
	if p, err := evidence.ParseURL(e.URL); err == nil && e.HasRequest && e.Target != p.Target {
		j.found.Add(e.Finding(finding.BadRecord, "a request for the record's URL",
			"the request line has "+e.Target))
	}
}

// sameStory checks that another crawler's request line, request record and response have one URL: of several, the one
// that the server received is unknown.
func (j *judge) sameStory(e *evidence.Exchange) {
	if e.RequestURL != "" {
		j.found.Add(e.Finding(finding.BadRecord, "a request and its answer are of one URL (WARC 1.1, 5.7)",
			"its request is of "+strconv.Quote(finding.Short(e.RequestURL))))
		return
	}
	p, err := evidence.ParseURL(e.URL)
	if err == nil && e.HasRequest && !evidence.SameTarget(e.Target, p.Target) {
		j.found.Add(e.Finding(finding.BadRecord, "a request for the record's URL",
			"the request line has "+strconv.Quote(finding.Short(e.Target))))
	}
}

// leftOut takes an exchange whose response was taken out of the archive. A packer may leave out pages that forbid
// archiving, and counts them (docs/reference/archives.md); any other response is missing. The metadata has its values.
func (j *judge) leftOut(e *evidence.Exchange, to *pacing.Host) {
	if e.LeftOut == "" {
		return
	}
	j.absent++
	l, robots := e.Line, e.Asked().IsRobots()
	if e.Damaged.File == "" && (robots || !storage.HasDirective(l.Directives, "noarchive") || j.absent > j.mayLack) { // otherwise records reports it
		j.found.Add(e.Finding(finding.BadRecord,
			"the answer that request and metadata name (archive reference), unless its page has noarchive and "+
				"the package records how many it leaves out (archive reference)",
			"no record "+e.LeftOut))
	}
	if robots {
		return
	}
	to.Reduced, e.HasAnswer, e.Bodyless = true, true, true
	e.Answered, e.Status, e.Cut = true, l.Status, l.Truncated
}

// request checks a request by RFC 9309 2.2.1 and, for this crawler, docs/trust/politeness.md, rules 1 to 3. asker is the
// User-Agent of the request for robots.txt.
func (j *judge) request(e *evidence.Exchange, asker string) {
	if !e.HasRequest {
		return
	}
	if e.Method != "" && e.Method != "GET" && e.Method != "HEAD" && !j.m.Ours() {
		j.found.Add(e.Finding(finding.Method, "GET or HEAD (draft-illyes-webbotauth-cbcp; politeness rule 3)",
			e.Method))
	}
	if j.m.Ours() {
		j.promised(e)
	} else if s := e.Sent.Secrets; s != "" { // no standard forbids it, but the site may have known the client
		f := e.Finding(finding.Credentials, "no cookies and no credentials (politeness rule 3)",
			"the request has the fields "+s)
		f.Note = !j.m.Strict
		j.found.Add(f)
	}
	const rfc = "a User-Agent that names the crawler by its product token (RFC 9309 2.2.1)"
	token := j.m.Declared()
	switch name := evidence.TokenOf(e.Agent); {
	case e.Agent == "":
		j.found.Add(e.Finding(finding.UserAgent, rfc, "no User-Agent"))
	case token != "" && !strings.Contains(strings.ToLower(e.Agent), strings.ToLower(token)):
		j.found.Add(e.Finding(finding.UserAgent, rfc+": "+token, "User-Agent: "+e.Agent))
	case e.Sent.OtherAgent != "" && !j.m.Ours(): // which of them the site used is unknown
		j.found.Add(e.Finding(finding.UserAgent, "one User-Agent (RFC 9110 5.3, 10.1.5)",
			"another before it: User-Agent: "+e.Sent.OtherAgent))
	case name == "" && token == "":
		j.found.Add(e.Finding(finding.UserAgent, rfc, "it poses as a browser: User-Agent: "+e.Agent))
	case j.m.Strict && !j.m.Ours() && !reachable(e.Agent):
		j.found.Add(e.Finding(finding.UserAgent,
			"a User-Agent with a contact, an http(s) URL or a mailbox (politeness rule 2)",
			"User-Agent: "+e.Agent))
	case token == "" && switched(asker, name):
		j.found.Add(e.Finding(finding.UserAgent,
			"the product token of the request for robots.txt (RFC 9309 2.2.1): "+evidence.TokenOf(asker),
			"User-Agent: "+e.Agent))
	}
}

func switched(asker, name string) bool {
	asker = evidence.TokenOf(asker)
	return asker != "" && !strings.EqualFold(asker, name)
}

func reachable(agent string) bool {
	agent = strings.ToLower(agent)
	return strings.Contains(agent, "http://") || strings.Contains(agent, "https://") || strings.Contains(agent, "@")
}

// promised checks a request of this crawler against its archive's declarations (docs/trust/politeness.md, rules 1 to 3).
func (j *judge) promised(e *evidence.Exchange) {
	s := &e.Sent
	if e.Method != "" && e.Method != "GET" && e.Method != "HEAD" {
		j.found.Add(e.Finding(finding.Method, "GET or HEAD (politeness rule 3)", e.Method))
	}
	if s.Odd != "" {
		j.found.Add(e.Finding(finding.BadRecord, "a request as this crawler sends it: HTTP/1.1, lines that end in CRLF, its own header fields "+
			"each once, and no body (archive reference)", "it has "+s.Odd))
	}
	if s.Secrets != "" {
		j.found.Add(e.Finding(finding.Credentials, "no cookies and no credentials (politeness rule 3)",
			"the request has the fields "+s.Secrets))
	}
	if s.Masked != "" && !(e.Own && j.m.Info.SignsIn(e.Authority)) {
		j.found.Add(e.Finding(finding.Credentials, "credentials only for hosts that are proved to be the operator's own, and that the warcinfo "+
			"record declares (politeness rule 28)", "the request has the fields "+s.Masked+", masked"))
	}
	if want := evidence.HostOf(e.Authority); s.Hosts != 1 || evidence.HostOf(evidence.Scheme(e.Authority)+s.Host) != want {
		j.found.Add(e.Finding(finding.BadRecord, "a request for the record's URL: Host: "+want,
			fmt.Sprintf("%d fields Host, the last %q", s.Hosts, s.Host)))
	}
	if j.m.Info == nil || j.m.Info.Agent == "" {
		return // the check of the warcinfo record reports it
	}
	if e.Agent != j.m.Info.Agent && e.Agent != "" || s.Agents > 1 {
		j.found.Add(e.Finding(finding.UserAgent, "the User-Agent that the warcinfo record declares: "+j.m.Info.Agent,
			fmt.Sprintf("%d fields, the last %s", s.Agents, e.Agent)))
	}
	if want := mailbox(j.m.Info.Agent); s.From != want || s.Froms > 1 {
		j.found.Add(e.Finding(finding.UserAgent,
			fmt.Sprintf("From: %q, the mailbox in the User-Agent (politeness rule 1)", want),
			fmt.Sprintf("%d fields, the last %q", s.Froms, s.From)))
	}
}

// mailbox returns the contact mailbox in a User-Agent of this crawler, or "".
func mailbox(agent string) string {
	_, rest, _ := strings.Cut(agent, "(+")
	contact, _, _ := strings.Cut(rest, ")")
	if !strings.Contains(contact, "@") || strings.Contains(contact, "://") {
		return ""
	}
	return contact
}

// facts compares request and response of this crawler with its line. wrong returns "" if they agree, or do not show it.
var facts = []struct {
	required string
	wrong    func(e *evidence.Exchange, in *evidence.Info) string
}{
	{"no body in the answer to a HEAD request (RFC 9110 9.3.2)", headBody},
	{"a body that ends where its head states (RFC 9112 6.3), unless the response is marked as truncated", framing},
	{"lastModified as the answer's Last-Modified has it (ledger reference)", lastModified},
	{"directives that include the response's X-Robots-Tag (ledger reference)", directives},
	{fmt.Sprintf("interimAnswers from 0 to %d (ledger reference)", maxInterim), interim},
	{"no page of a host whose Crawl-delay is longer than the max-crawl-delay-ms of the warcinfo record (politeness rule 7)", crawlDelay},
}

func headBody(e *evidence.Exchange, _ *evidence.Info) string {
	if e.Method != "HEAD" || e.Body == 0 {
		return ""
	}
	return fmt.Sprintf("%d bytes after its head", e.Body)
}

// whole are the outcomes of responses that were read completely, or explicitly left unread.
var whole = []storage.Outcome{storage.OutcomeFetched, storage.OutcomeRedirected, storage.OutcomeGone}

func framing(e *evidence.Exchange, _ *evidence.Info) string {
	if e.Cut != "" || !e.Whole || e.Revisit != "" || !slices.Contains(whole, e.Line.Outcome) {
		return ""
	}
	return e.Unframed
}

// lastModified compares the dates. The crawl ignores dates after the response; a day is allowed for a clock set since.
func lastModified(e *evidence.Exchange, _ *evidence.Info) string {
	recorded := e.Line.Modified
	if e.Line.Decision != storage.DecisionAllow || e.Line.Status == 0 {
		return ""
	}
	var header time.Time
	if len(e.Answer.LastModified) == 1 {
		if at, ok := evidence.Date(e.Answer.LastModified[0]); ok && at.Year() >= 1990 {
			header = at
		}
	}
	if recorded.Equal(header) || recorded.IsZero() && header.After(e.Began.Add(-24*time.Hour)) {
		return ""
	}
	return fmt.Sprintf("Last-Modified: %q, and lastModified %s", e.Answer.LastModified, recorded.UTC().Format(time.RFC3339))
}

// directives compares those of X-Robots-Tag; a value with a colon may be for another robot. The page may add others, and a
// 304 those of the earlier response.
func directives(e *evidence.Exchange, _ *evidence.Info) string {
	l := e.Line
	if l.Decision != storage.DecisionAllow || l.Status == 0 || l.Status == 304 || !slices.Contains(whole, l.Outcome) {
		return ""
	}
	for _, value := range e.Answer.RobotsTags {
		if strings.Contains(value, ":") {
			continue
		}
		for word := range strings.SplitSeq(strings.ToLower(value), ",") {
			for _, means := range meanings[strings.TrimSpace(word)] {
				if !storage.HasDirective(l.Directives, means) {
					return fmt.Sprintf("X-Robots-Tag: %s, and directives %q", value, l.Directives)
				}
			}
		}
	}
	return ""
}

// meanings are the directives that the crawl understands, and its names for them.
var meanings = map[string][]string{
	"noindex": {"noindex"}, "nofollow": {"nofollow"}, "none": {"noindex", "nofollow"}, "noarchive": {"noarchive"}, "nocache": {"noarchive"},
}

const maxInterim = 17 // interim responses (1xx) before the crawl gives up

func interim(e *evidence.Exchange, _ *evidence.Info) string {
	if n := e.Line.Interim; n < 0 || n > maxInterim {
		return fmt.Sprint(n)
	}
	return ""
}

func crawlDelay(e *evidence.Exchange, in *evidence.Info) string {
	l := e.Line
	if in == nil || in.MaxDelay == 0 || l.Decision != storage.DecisionAllow || l.PaceBy != storage.ByCrawlDelay && l.PaceBy != storage.ByRequestRate ||
		l.Pace <= in.MaxDelay+time.Millisecond {
		return ""
	}
	return fmt.Sprintf("a delay of %v by %s, and max-crawl-delay-ms: %d", l.Pace, l.PaceBy, in.MaxDelay.Milliseconds())
}
