package export

import (
	"context"
	"time"

	"curtsy/frontier/canon"
	"curtsy/storage"
	"curtsy/storage/cdxj"
	"curtsy/storage/report"
	"curtsy/storage/tables"
)

// Bounds for one line, so that sums of a forged ledger do not overflow.
const (
	mostTimes  = 1 << 40
	mostOctets = 1 << 44
	mostTook   = 100 * time.Hour
)

// host sums up the lines of one authority.
type host struct {
	Own                            bool
	Lines, URLs, Refused           int64
	Exchanges, Robots, Retries     int64
	Outcomes                       map[storage.Outcome]int64
	Status                         [6]int64 // by the first digit; 0: none or invalid
	Octets                         int64
	First, Last                    time.Time
	Took, Rest, LeastGap, MostPace time.Duration
	HasPace                        bool
	PaceBy                         storage.PaceBy
}

func (h *host) take(l *storage.Line) {
	n := min(max(l.Count, 1), mostTimes)
	one := host{
		Own: l.Own, Lines: 1, URLs: n, First: l.Time, Last: l.Time, Octets: min(max(l.Octets, 0), mostOctets),
		Rest: min(max(l.Rest, 0), mostTook), LeastGap: l.Gap,
	}
	switch l.Decision {
	case storage.DecisionRefuse, storage.DecisionHold, storage.DecisionOptOut:
		one.Refused = n
	}
	if l.Outcome != "" {
		one.Outcomes = map[storage.Outcome]int64{l.Outcome: n}
	}
	if report.Sent(l) {
		one.Exchanges, one.Took = 1, min(max(l.Took, 0), mostTook)
		one.Retries = bit(l.Attempt > 1)
		one.Robots = bit(l.Decision == storage.DecisionRobots)
		if digit := l.Status / 100; digit >= 1 && digit < len(one.Status) {
			one.Status[digit] = 1
		} else {
			one.Status[0] = 1
		}
		if l.PaceBy != "" {
			one.HasPace, one.MostPace, one.PaceBy = true, l.Pace, l.PaceBy
		}
	}
	addHost(h, &one)
}

func addHost(to, more *host) {
	to.First, to.Last = earlier(to.First, more.First), later(to.Last, more.Last)
	to.Own = to.Own || more.Own
	to.Lines, to.URLs, to.Refused = to.Lines+more.Lines, to.URLs+more.URLs, to.Refused+more.Refused
	to.Exchanges, to.Robots, to.Retries = to.Exchanges+more.Exchanges, to.Robots+more.Robots, to.Retries+more.Retries
	to.Octets, to.Took, to.Rest = to.Octets+more.Octets, to.Took+more.Took, to.Rest+more.Rest
	for o, n := range more.Outcomes {
		if to.Outcomes == nil {
			to.Outcomes = map[storage.Outcome]int64{}
		}
		if _, known := outcomeColumns[o]; known {
			to.Outcomes[o] += n
		}
	}
	for i, n := range more.Status {
		to.Status[i] += n
	}
	if more.LeastGap > 0 && (to.LeastGap <= 0 || more.LeastGap < to.LeastGap) {
		to.LeastGap = more.LeastGap
	}
	if more.HasPace && (!to.HasPace || more.MostPace > to.MostPace || more.MostPace == to.MostPace && more.PaceBy < to.PaceBy) {
		to.HasPace, to.MostPace, to.PaceBy = true, more.MostPace, more.PaceBy
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

var outcomeColumns = map[storage.Outcome]string{
	storage.OutcomeFetched: "fetched", storage.OutcomeRedirected: "redirected", storage.OutcomeDisallowed: "disallowed",
	storage.OutcomeFailed: "failed", storage.OutcomeGone: "gone", storage.OutcomeDropped: "dropped",
	storage.OutcomeHeld: "held", storage.OutcomeDeferred: "deferred",
}

func hosts(ctx context.Context, in *Inputs, out *Out) (err error) {
	all := newSums(in, addHost)
	defer func() { err = all.close(err) }()
	for _, c := range in.Crawls {
		err := c.decided(ctx, out, func(e *entry) error {
			key, authority := hostOf(e.Line.URL)
			h, err := all.of(keyOf(key, authority, c.Name))
			if err == nil {
				h.take(&e.Line)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	f := newFiller(&tables.Hosts)
	return all.all(func(key []string, h *host) error {
		r := f.row()
		r.host(key)
		r.set("crawl", tables.Text(key[2]))
		r.sum(h)
		return out.Row(r.r)
	})
}

func (r row) host(key []string) {
	r.set("host_surtkey", tables.Text(key[0]))
	r.set("authority", tables.Text(key[1]))
	if r.table != &tables.Hosts {
		return
	}
	a, err := canon.ParseAuthority(key[1])
	if err != nil {
		r.set("host", tables.Text(""))
		r.set("scheme", tables.Text(""))
		return
	}
	r.set("host", tables.Text(a.Host()))
	r.set("scheme", tables.Text(a.Scheme()))
	r.set("port", portOf(a))
	registry, private := a.Suffixes()
	r.set("registered_domain", tables.Some(registry.Domain))
	r.set("private_domain", tables.Some(private.Domain))
}

func (r row) sum(h *host) {
	r.set("own", tables.Flag(h.Own))
	for name, n := range map[string]int64{
		"decisions": h.Lines, "urls": h.URLs, "exchanges": h.Exchanges, "robots_exchanges": h.Robots, "retries": h.Retries,
		"refused": h.Refused, "status_2xx": h.Status[2], "status_3xx": h.Status[3], "status_4xx": h.Status[4],
		"status_5xx": h.Status[5], "no_answer": h.Status[0] + h.Status[1], "octets": h.Octets,
	} {
		r.set(name, tables.Long(n))
	}
	for o, column := range outcomeColumns {
		r.set(column, tables.Long(h.Outcomes[o]))
	}
	r.set("first_time", instant(h.First))
	r.set("last_time", instant(h.Last))
	r.set("took_ms", millis(h.Took))
	r.set("rest_ms", millis(h.Rest))
	r.set("least_gap_ms", unlessZero(h.LeastGap))
	if h.HasPace {
		r.set("most_pace_ms", millis(h.MostPace))
		r.set("most_pace_by", tables.Some(string(h.PaceBy)))
	}
}

// hostOf returns the authority of a URL and the sort key of its root; both are empty for a URL that is not of the web.
func hostOf(url string) (key, authority string) {
	u, err := canon.Parse(url)
	if err != nil {
		return "", ""
	}
	return cdxj.Key(u.Authority().Origin() + "/"), u.Authority().String()
}
