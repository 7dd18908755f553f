package ndjson

import (
	"errors"
	"fmt"
	"time"

	"curtsy/frontier"
)

func lineOfHost(h *frontier.Host) *host {
	l := &host{
		Authority: h.Authority, Condition: h.Condition, Reason: text(h.Reason), Pace: span(h.Pace),
		Width: h.Width, Robots: h.Robots, Memory: h.Memory, Wait: span(h.Wait), Leased: h.Leased,
		Queued: h.Queued, InFlight: h.InFlight, Deferred: h.Deferred,
	}
	if h.Hold != (frontier.Hold{}) {
		l.Hold = &hold{h.Hold.Act, text(h.Hold.Reason), span(h.Hold.Wait)}
	}
	for o, n := range h.Outcomes {
		if n != 0 && o > 0 {
			if l.Outcomes == nil {
				l.Outcomes = map[string]int64{}
			}
			l.Outcomes[frontier.Outcome(o).String()] = n
		}
	}
	return l
}

func (l *host) item() (*frontier.Host, error) {
	h := &frontier.Host{
		Authority: l.Authority,
		HostUpdate: frontier.HostUpdate{
			Condition: l.Condition, Reason: string(l.Reason), Pace: time.Duration(l.Pace),
			Width: l.Width, Robots: l.Robots, Memory: l.Memory,
		},
		Wait: time.Duration(l.Wait), Leased: l.Leased, Queued: l.Queued, InFlight: l.InFlight, Deferred: l.Deferred,
	}
	switch {
	case h.Authority.IsZero():
		return nil, errors.New("a host without its authority")
	case h.Wait < 0 || h.Pace < 0 || h.Width < 0:
		return nil, fmt.Errorf("host %s: a negative number", h.Authority)
	case len(h.Robots) > frontier.MaxRobots || len(h.Memory) > frontier.MaxMemory:
		return nil, fmt.Errorf("host %s: more bytes of robots state or memory than a frontier keeps", h.Authority)
	}
	if l.Hold != nil {
		if a := l.Hold.Act; a != frontier.Park && a != frontier.Drop {
			return nil, fmt.Errorf("host %s: no hold is called %q", h.Authority, a)
		}
		h.Hold = frontier.Hold{Act: l.Hold.Act, Reason: string(l.Hold.Reason), Wait: time.Duration(l.Hold.Wait)}
	}
	for name, n := range l.Outcomes {
		var o frontier.Outcome
		if err := o.UnmarshalText([]byte(name)); err != nil {
			return nil, fmt.Errorf("host %s: %w", h.Authority, err)
		}
		h.Outcomes[o] = n
	}
	return h, nil
}

func lineOfEntry(e *frontier.Entry) *entry {
	l := &entry{
		URL: e.URL, Kind: e.Kind, Via: text(e.Via), Depth: e.Depth, Hops: e.Hops, Embeds: e.Embeds, Away: e.Away,
		Seed: text(e.Seed), Tag: text(e.Tag), Print: print(e.Print), State: state{e.Outcome, e.Deferred},
		Reason: text(e.Reason), Attempts: e.Attempts, Wait: span(e.Wait), Stops: e.Stops, Alone: e.Alone,
	}
	if !e.Replaced.IsZero() {
		l.Replaced = &e.Replaced
	}
	return l
}

func (l *entry) item() (*frontier.Entry, error) {
	e := &frontier.Entry{
		Candidate: frontier.Candidate{
			URL: l.URL, Kind: l.Kind, Via: string(l.Via), Depth: l.Depth, Hops: l.Hops, Embeds: l.Embeds, Away: l.Away,
			Seed: string(l.Seed), Tag: string(l.Tag),
		},
		Print: frontier.Fingerprint(l.Print), Outcome: l.State.outcome, Deferred: l.State.deferred,
		Reason: string(l.Reason), Attempts: l.Attempts, Wait: time.Duration(l.Wait), Stops: l.Stops, Alone: l.Alone,
	}
	if l.Replaced != nil {
		e.Replaced = *l.Replaced
	}
	switch {
	case e.URL.IsZero():
		return nil, errors.New("a URL line without its URL")
	case e.Kind == 0:
		return nil, fmt.Errorf("URL %s has no kind", e.URL)
	case e.Print == 0:
		return nil, fmt.Errorf("URL %s has no fingerprint", e.URL)
	case e.Depth < 0 || e.Hops < 0 || e.Embeds < 0 || e.Away < 0 || e.Attempts < 0 || e.Wait < 0 || e.Stops < 0 || e.Alone < 0:
		return nil, fmt.Errorf("URL %s: a negative number", e.URL)
	}
	return e, nil
}
