package audit

import (
	"fmt"
	"strings"

	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/weburl"
)

// sent is what a request's head says of who asks and whom, beside its User-Agent.
type sent struct {
	agents, froms, hosts int
	host, from           string
	secrets              string // names of fields that tell who the user is
	otherAgent           string // a User-Agent before the last, and another
	length               string // Content-Length
	chunked              bool   // Transfer-Encoding is given
}

// take takes a field.
func (s *sent) take(name string, value []byte) {
	switch name {
	case "host":
		s.host, s.hosts = strings.ToLower(finding.Short(string(value))), s.hosts+1
	case "from":
		s.from, s.froms = finding.Short(string(value)), s.froms+1
	case "content-length":
		s.length = finding.Short(string(value))
	case "transfer-encoding":
		s.chunked = true
	case "cookie", "authorization", "proxy-authorization":
		if !strings.Contains(s.secrets, name) {
			s.secrets = strings.TrimPrefix(s.secrets+", "+name, ", ")
		}
	}
}

// promised checks what a request of ours says: all of it is fixed by what the archive declares (docs/politeness.md, rules 1
// to 3).
func (a *audit) promised(h *half) {
	e, s := &h.e, &h.sent
	if e.Method != "" && e.Method != "GET" {
		a.report(e.finding(finding.Method, "GET (docs/politeness.md, rule 3)", e.Method))
	}
	if s.secrets != "" {
		a.report(e.finding(finding.Credentials, "no cookies and no credentials (docs/politeness.md, rule 3)", "the request has the fields "+s.secrets))
	}
	if want := weburl.HostOf(e.Authority); s.hosts != 1 || weburl.HostOf(weburl.Scheme(e.Authority)+s.host) != want {
		a.report(e.finding(finding.BadRecord, "a request for the record's URL: Host: "+want, fmt.Sprintf("%d fields Host, the last %q", s.hosts, s.host)))
	}
	if a.info == nil || a.info.Agent == "" {
		return // which is said of the warcinfo record
	}
	if e.Agent != a.info.Agent && e.Agent != "" || s.agents > 1 {
		a.report(e.finding(finding.UserAgent, "the User-Agent that the warcinfo record declares: "+a.info.Agent, fmt.Sprintf("%d fields, the last %s", s.agents, e.Agent)))
	}
	if want := mailbox(a.info.Agent); s.from != want || s.froms > 1 {
		a.report(e.finding(finding.UserAgent, fmt.Sprintf("From: %q, the mailbox in the User-Agent (docs/politeness.md, rule 1)", want), fmt.Sprintf("%d fields, the last %q", s.froms, s.from)))
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
