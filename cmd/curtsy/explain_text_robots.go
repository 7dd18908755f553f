package main

import (
	"fmt"

	"curtsy/crawler/explain"
	"curtsy/storage/plainly"
)

// robots writes where the policy comes from and how it judges.
func (p *explainPage) robots(r explain.Robots) {
	from := map[string]string{
		explain.PolicyNone: "none yet", explain.PolicyLive: "requested just now, besides the crawl", explain.PolicyArchive: "from the archive",
	}[r.Source]
	if from != "" {
		from = ": " + from
	}
	p.line("robots", "%s%s", r.URL, from)
	p.source(r)
	if r.Source == explain.PolicyNone {
		return
	}
	if v := r.Verdict; v != nil && len(r.Policies) == 0 {
		p.line("", "%s: %s", permits(v.Allow), v.Reason)
	}
	for _, view := range r.Policies {
		p.policy(view)
	}
}

func permits(allow bool) string {
	if allow {
		return "allowed"
	}
	return "disallowed"
}

func (p *explainPage) source(r explain.Robots) {
	if r.Final != "" {
		p.line("", "redirected to %s", r.Final)
	}
	if r.Fetched != nil {
		text := "fetched " + explainStamp(*r.Fetched)
		if r.Status > 0 {
			text += fmt.Sprintf(", status %d", r.Status)
		}
		if r.Expires != nil {
			until := ", valid until "
			if !r.Valid {
				until = ", expired "
			}
			text += until + explainStamp(*r.Expires)
		}
		p.line("", "%s", text)
	}
	if r.Failure != "" {
		text := fmt.Sprintf("unavailable: %s, %s in a row", plainly.Reason(r.Failure), plainly.Count(int64(r.Fails), "time"))
		if r.Retry != nil {
			text += ", tried again after " + explainStamp(*r.Retry)
		}
		p.line("", "%s", text)
	}
	if r.Need == "refresh" || r.Need == "fetch" {
		p.line("", "it is requested before the next page")
	}
	if r.Flags != "" {
		p.line("", "odd: %s", r.Flags)
	}
	if r.SHA256 != "" {
		p.line("", "sha256 %s", r.SHA256)
	}
	if r.Record != "" {
		p.line("", "record %s", r.Record)
	}
}

// policy writes what one token reads by one standard.
func (p *explainPage) policy(v explain.PolicyView) {
	group := "no group applies"
	switch {
	case v.Named:
		group = "groups of User-agent: " + v.Group
	case v.Group != "":
		group = "groups of User-agent: " + v.Group + " (none names it)"
	}
	p.line("", "%s by %s: %s; %s; matching rules: %d of %d", v.Token, v.Standard, permits(v.Allow), group, len(v.Candidates)+v.More, v.Rules)
	for i, c := range v.Candidates {
		mark := ""
		switch i {
		case 0:
			mark = "  ← decides: " + v.Why
		case 1:
			mark = "  (runner-up)"
		}
		p.line("", "  line %-5d length %-4d %s%s", c.Line, c.Length, c.Rule, mark)
	}
	if v.More > 0 {
		p.line("", "  … and %d more", v.More)
	}
	if len(v.Candidates) == 0 {
		p.line("", "  %s", v.Why)
	}
}
