package audit

import (
	"fmt"
	"strings"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
	"curtsy/storage/audit/weburl"
)

// promised checks what a request of ours says: all of it is fixed by what the archive declares (docs/politeness.md, rules 1
// to 3).
func (a *audit) promised(h *evidence.Joined) {
	e, s := &h.Exchange, &h.Sent
	if e.Method != "" && e.Method != "GET" {
		a.report(e.Finding(finding.Method, "GET (docs/politeness.md, rule 3)", e.Method))
	}
	if s.Secrets != "" {
		a.report(e.Finding(finding.Credentials, "no cookies and no credentials (docs/politeness.md, rule 3)", "the request has the fields "+s.Secrets))
	}
	if want := weburl.HostOf(e.Authority); s.Hosts != 1 || weburl.HostOf(weburl.Scheme(e.Authority)+s.Host) != want {
		a.report(e.Finding(finding.BadRecord, "a request for the record's URL: Host: "+want, fmt.Sprintf("%d fields Host, the last %q", s.Hosts, s.Host)))
	}
	if a.info == nil || a.info.Agent == "" {
		return // which is said of the warcinfo record
	}
	if e.Agent != a.info.Agent && e.Agent != "" || s.Agents > 1 {
		a.report(e.Finding(finding.UserAgent, "the User-Agent that the warcinfo record declares: "+a.info.Agent, fmt.Sprintf("%d fields, the last %s", s.Agents, e.Agent)))
	}
	if want := mailbox(a.info.Agent); s.From != want || s.Froms > 1 {
		a.report(e.Finding(finding.UserAgent, fmt.Sprintf("From: %q, the mailbox in the User-Agent (docs/politeness.md, rule 1)", want), fmt.Sprintf("%d fields, the last %q", s.Froms, s.From)))
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
