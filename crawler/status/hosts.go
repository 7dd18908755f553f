package status

import (
	"context"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
)

// standing is what a status says of single hosts.
type standing struct {
	longest []Queue
	resting []Resting
	why     map[string]map[string]int64
}

func (o standing) into(s *Status) { s.Longest, s.Resting, s.Why = o.longest, o.resting, o.why }

// standingOut asks the frontier what stands out among its hosts, and what is remembered of the few that do.
func standingOut(ctx context.Context, f frontier.Reader) (o standing, err error) {
	survey, err := f.Survey(ctx, MaxResting)
	if err != nil {
		return o, err
	}
	now := time.Now()
	for _, h := range survey.Longest[:min(len(survey.Longest), MaxLongest)] {
		whole, ok, err := f.Host(ctx, h.Authority) // a survey has no memory
		if err != nil {
			return o, err
		}
		if ok {
			o.longest = append(o.longest, queueOf(whole, now))
		}
	}
	for _, h := range survey.Shut {
		o.resting = append(o.resting, restingOf(h))
	}
	o.why = map[string]map[string]int64{}
	for c, reasons := range survey.Why {
		o.why[c.String()] = reasons
	}
	for act, n := range survey.Holds {
		if n > 0 {
			o.why[HoldName(act)] = map[string]int64{frontier.ReasonOperator: n}
		}
	}
	return o, nil
}

func queueOf(h frontier.Host, now time.Time) Queue {
	q := Queue{
		Host: h.Authority.Origin(), Pending: h.Pending(), Fetched: h.Outcomes[frontier.Fetched],
		Pace: h.Pace.Seconds(),
	}
	n, err := host.Read(h.Memory)
	if err == nil && n.LastEnd != 0 {
		ago := max(now.Sub(time.UnixMicro(n.LastEnd)), 0).Seconds()
		q.Last = &ago
	}
	q.Addr = n.Spot
	wait := h.Wait
	switch {
	case h.Hold.Act != 0:
		q.State = HoldName(h.Hold.Act)
		wait = max(wait, h.Hold.Wait)
	case h.Condition != frontier.Open:
		q.State = h.Condition.String()
	}
	if q.Never = wait == frontier.Never; !q.Never {
		q.Wait = wait.Seconds()
	}
	return q
}

// restingOf says why a host rests. What the operator commanded comes first: it outlasts what turns say.
func restingOf(h frontier.Host) Resting {
	r := Resting{Host: h.Authority.Origin(), Condition: h.Condition.String(), Reason: h.Reason, Pending: h.Pending()}
	wait := h.Wait
	if h.Hold.Act != 0 {
		r.Condition, r.Reason, wait = HoldName(h.Hold.Act), h.Hold.Reason, h.Hold.Wait
	}
	if wait != frontier.Never {
		r.Wait = wait.Seconds()
	}
	return r
}

// HoldName is what an operator's command makes of a host.
func HoldName(a frontier.Act) string {
	if a == frontier.Drop {
		return "dropped by operator"
	}
	return "parked by operator"
}
