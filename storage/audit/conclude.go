package audit

import (
	"context"
	"maps"
	"slices"
	"strings"

	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

// conclude makes the result.
func (a *audit) conclude(ctx context.Context) (*Result, error) {
	r, read := a.Result, a.read.Summary()
	r.Files, r.Archives = read.Files, read.Archives
	r.Totals.Records, r.Totals.Other, r.Totals.Revisits = read.Records, read.Other, read.Revisits
	r.Totals.Elsewhere, r.Totals.Digests = read.Elsewhere, read.Digests
	if r.Totals.Records == 0 && !a.o.Ours { // beside a ledger, that may be all
		return nil, ErrNothing
	}
	a.take(a.pace.Flush())
	a.rows()
	r.Totals.Gaps, r.Totals.Judged = a.pace.Gaps, a.judge.judged
	ours := slices.ContainsFunc(r.Archives, func(in *evidence.Info) bool { return in.Ours })
	r.Measures = a.measures(ours)
	r.CannotShow = a.cannotShow(ours)
	for _, w := range a.o.Witnesses {
		if err := w.Close(ctx, r, a.report); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.hosts)) {
		h := a.hosts[name]
		r.Hosts = append(r.Hosts, h.show())
		if h.Own {
			why := "its proof is in the archive"
			if evidence.Loopback(name) {
				why = "loopback"
			}
			r.OwnHosts = append(r.OwnHosts, OwnHost{finding.Short(name), why})
		}
	}
	if r.Confirmed != nil {
		for _, h := range r.Hosts {
			if h.Pages+h.Robots > 0 {
				r.Confirmed.OfHosts++
			}
		}
		r.Confirmed.OfExchanges = r.Totals.Exchanges
	}
	for _, n := range a.Counted().Counts {
		if n.Code.Contradicts() && n.Found > n.Notes {
			r.Level, r.Levels, r.Confirmed = NoLevel, nil, nil
		}
	}
	return r, nil
}

// rows judges the exchanges of each host as a whole.
func (a *audit) rows() {
	for _, name := range slices.Sorted(maps.Keys(a.hosts)) {
		if f, short := a.hosts[name].pace.Whole(name); short {
			a.report(f)
		}
	}
}

// measures say what was required.
func (a *audit) measures(ours bool) []string {
	m := []string{
		"robots.txt before pages, used for 24 h at most, as read by RFC 9309 (2.2 to 2.4) by the audit's own " +
			"parser",
		"Crawl-delay from the end of a response to the start of the next request to the same authority",
		"nothing during a Retry-After (RFC 9110 10.2.3)",
		"one request at a time to an authority, where the archive records when responses ended",
		"GET and HEAD only, with a User-Agent that names the crawler (RFC 9309 2.2.1)",
		"block and payload digests (WARC 1.1, 5.8 and 5.9)",
	}
	if ours {
		m = append(m, "curtsy's politeness rules: a floor of 1 s or what the archive declares, the groups "+
			"of the token and of curtsy, "+
			"Cache-Control of robots.txt, 429 and 5xx as unreachable, the delay of addresses, Request-rate, "+
			"RateLimit, five times the response time, "+
			"the crawl's own statements, and its reason for each delay")
	}
	if a.o.Strict && !ours {
		m = append(m, "of another crawler, as requested, curtsy's politeness rules that its "+
			"archive can show: a floor of 1 s, Cache-Control of "+
			"robots.txt, 429, 408, 425 and 5xx as unreachable, delays after 429 and errors, the delay of addresses "+
			"(100 ms), Request-rate, RateLimit, "+
			"five times the response time, a contact in the User-Agent, no cookies and no credentials")
	}
	if a.o.Floor > 0 {
		m = append(m, "a delay of "+a.o.Floor.String()+
			" for hosts that are not the operator's own, as requested")
	}
	return m
}

// cannotShow says what no audit of an archive can.
func (a *audit) cannotShow(ours bool) []string {
	c := []string{
		"that every request was archived: only the sites' own access logs can confirm that",
		"that the clock of the crawling computer was right (the dates of responses show how it differs from the " +
			"servers', which may be wrong or made up), or that the files are those that the crawl wrote: a " +
			"checkpoint stored elsewhere at the time confirms the second",
		"requests of which no byte was sent, which leave no record",
	}
	if i := slices.IndexFunc(a.Archives, func(in *evidence.Info) bool { return in.Proxy != "" }); i >= 0 {
		c = append(c, "the addresses of hosts behind a proxy ("+a.Archives[i].Proxy+"): where the archive has no address, neither private addresses "+
			"nor the delay of addresses were checked; names and the delay of hosts were")
	}
	for _, in := range a.Archives {
		for _, said := range in.Credentials {
			host, fields, _ := strings.Cut(said, ": ")
			c = append(c, "what other clients see of "+host+", one of the operator's own hosts, which was requested with credentials ("+fields+
				"), whose values the archive does not have")
		}
	}
	if ours {
		c = append(c,
			"that the value in a host's /.well-known/curtsy-owner.txt was made with the operator's key: only that key can show it",
			"that delays after repeated errors are as long as politeness rules 11 and 12 require: the audit uses "+
				"those that the crawl recorded",
			"when a response began: the audit accepts the recorded time of the first byte if it is not after the "+
				"last, and computes the delay for slow responses from it",
			"whether a run continued without the last two responses of the previous file, as after a kill: their "+
				"response times and RateLimit do not bind it",
			"when exactly a connection to an address was opened: the delay of addresses is judged over many "+
				"exchanges",
		)
	} else {
		named := "that the software is the one that the archive names"
		if !a.o.Strict {
			named += ": this crawler's own promises beyond the standards were not checked"
		}
		c = append(c, named, "which product token the crawler obeyed, unless the archive or its requests name it")
	}
	if a.Totals.Unprovable > 0 {
		c = append(c, "the checks that the table of hosts counts as unprovable, for the reasons given there")
	}
	if a.Totals.Elsewhere > 0 {
		c = append(c, "that what some revisit records repeat exists: it is not in these files")
	}
	return c
}
