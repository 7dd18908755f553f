package audit

import (
	"fmt"
	"strings"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// requests holds what a request says of who asks: by RFC 9309 2.2.1, and of ours by docs/trust/politeness.md, rules 1 to 3.
type requests struct {
	m     evidence.Measure
	found finding.List
}

// judge checks who asks, and how. asker is who asked for the robots.txt of the host.
func (j *requests) judge(h *evidence.Joined, asker string) {
	e := &h.Exchange
	if !h.HasRequest {
		return
	}
	if e.Method != "" && e.Method != "GET" && e.Method != "HEAD" && !j.m.Ours() {
		j.found.Add(e.Finding(finding.Method, "GET or HEAD (draft-illyes-webbotauth-cbcp; politeness rule 3)",
			e.Method))
	}
	if j.m.Ours() {
		j.promised(h)
	} else if s := h.Sent.Secrets; s != "" { // no standard forbids it; who the crawler was to the site is worth knowing
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
	case h.Sent.OtherAgent != "" && !j.m.Ours(): // which of them the site took for its name, nobody can say
		j.found.Add(e.Finding(finding.UserAgent, "one User-Agent (RFC 9110 5.3, 10.1.5)",
			"another before it: User-Agent: "+h.Sent.OtherAgent))
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

// switched reports whether a crawler that calls itself so asked for the robots.txt of a host by another name.
func switched(asker, name string) bool {
	asker = evidence.TokenOf(asker)
	return asker != "" && !strings.EqualFold(asker, name)
}

// reachable reports whether a User-Agent tells whom to ask about the crawler.
func reachable(agent string) bool {
	agent = strings.ToLower(agent)
	return strings.Contains(agent, "http://") || strings.Contains(agent, "https://") || strings.Contains(agent, "@")
}

// promised checks what a request of ours says: all of it is fixed by what the archive declares (docs/trust/politeness.md,
// rules 1 to 3).
func (j *requests) promised(h *evidence.Joined) {
	e, s := &h.Exchange, &h.Sent
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
		return // which is said of the warcinfo record
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

// mailbox is the mailbox that a User-Agent of ours names as contact, "" when it names none.
func mailbox(agent string) string {
	_, rest, _ := strings.Cut(agent, "(+")
	contact, _, _ := strings.Cut(rest, ")")
	if !strings.Contains(contact, "@") || strings.Contains(contact, "://") {
		return ""
	}
	return contact
}
