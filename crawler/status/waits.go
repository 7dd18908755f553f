package status

import (
	"context"
	"net/netip"
	"strings"
	"time"

	"curtsy/crawler/host"
	"curtsy/frontier"
)

// Look is a running crawl at a glance.
type Look struct {
	Status   Status   `json:"status"`
	Estimate Estimate `json:"estimate"`
	Waits    Waits    `json:"waits"`
	Memory   int64    `json:"memory_bytes,omitempty"` // that the process has of the system
	Workers  int      `json:"workers,omitempty"`      // exchanges at a time, at most
}

// Waits says what keeps the hosts of a crawl that have something pending from their next turn, and which rate their paces
// permit. Each such host is counted once.
type Waits struct {
	Looked int64 `json:"looked"` // hosts that were looked at, the first of the crawl
	Hosts  int64 `json:"hosts"`  // of these, those with something pending: the sum of all below

	InTurn   int64 `json:"in_turn"`  // has its turn now
	Due      int64 `json:"due"`      // may have a turn: it waits for a worker
	Pace     int64 `json:"pace"`     // keeps its pace
	Address  int64 `json:"address"`  // waits for its address, which other hosts share
	Retry    int64 `json:"retry"`    // all that is left of it failed, and is tried again later
	Rest     int64 `json:"rest"`     // rests: Retry-After, failures in a row
	Robots   int64 `json:"robots"`   // its robots.txt cannot be had
	Operator int64 `json:"operator"` // held by the operator
	Shut     int64 `json:"shut"`     // retired or refused

	// Permitted is how many exchanges a second politeness permits now: what the paces of all hosts that are not left alone
	// come to, where hosts at one address share one rate.
	Permitted float64 `json:"permitted_per_s"`
}

// Waits looks at the first hosts of the crawl, of which limited wait for their address.
func (l *Live) Waits(ctx context.Context, limited int64) (Waits, error) {
	w, err := l.waits.get(ctx, l.findWaits)
	if err != nil {
		return w, err
	}
	w.Address = min(limited, w.Pace)
	w.Pace -= w.Address
	return w, nil
}

func (l *Live) findWaits(ctx context.Context) (Waits, error) {
	var w Waits
	rates := map[netip.Prefix]float64{} // by address; those of hosts that share none are under the zero one
	err := EachHost(ctx, l.frontier, mostLooked, func(h frontier.Host) bool {
		w.Looked++
		if h.Pending() == 0 {
			return true
		}
		w.Hosts++
		n, _ := host.Read(h.Memory) // damaged ones are none
		p := l.settings.pacing(h, &n)
		*w.of(h)++
		if takesTurns(h) {
			at := n.Spot
			if p.Own {
				at = netip.Prefix{}
			}
			rates[at] += perSecond(p.Pace, n.Response(), h.Width)
		}
		return true
	})
	for at, rate := range rates {
		if at.IsValid() && l.settings.IPDelay > 0 {
			rate = min(rate, 1/l.settings.IPDelay.Seconds())
		}
		w.Permitted += rate
	}
	return w, err
}

// of is the count that a host belongs to.
func (w *Waits) of(h frontier.Host) *int64 {
	switch {
	case h.Hold.Act != 0:
		return &w.Operator
	case h.Condition == frontier.Retired || h.Condition == frontier.Refused:
		return &w.Shut
	case h.Leased:
		return &w.InTurn
	case h.Wait <= 0:
		return &w.Due
	case h.Condition == frontier.Parked && strings.HasPrefix(h.Reason, "robots"):
		return &w.Robots
	case h.Condition == frontier.Parked:
		return &w.Rest
	case h.Deferred == h.Pending():
		return &w.Retry
	}
	return &w.Pace
}

// takesTurns reports whether a host has its turns at its pace, as far as is known.
func takesTurns(h frontier.Host) bool {
	return h.Hold.Act == 0 && (h.Condition == frontier.Open && h.Deferred < h.Pending() || h.Leased)
}

// perSecond is how many exchanges a second a pace permits. The exchange itself takes its time, which counts from its end.
func perSecond(pace, response time.Duration, width int) float64 {
	each := pace + response
	if each <= 0 {
		return 0 // as fast as it answers: nothing limits it, and nothing is known
	}
	return float64(max(width, 1)) / each.Seconds()
}

// Why says in a sentence why a crawl in that state is no faster, which of late made so many exchanges a second of those that
// were permitted.
func (w Waits) Why(state string, exchanges, permitted float64) string {
	switch {
	case state == "paused":
		return "The crawl is paused: no request starts until you unpause it."
	case state == OutsideWindow:
		return "The crawl is outside its window (--window): no request starts until the window opens."
	case state == "draining":
		return "The crawl is ending: it finishes the requests in flight and starts no others."
	case w.Hosts == 0:
		return "No host has URLs left."
	case w.Due > w.InTurn && w.Due*4 > w.Hosts:
		return "Hosts are due and wait for a worker: the machine or --workers limits, not politeness."
	case permitted > 0 && exchanges >= 0.9*permitted:
		return "The crawl is as fast as politeness permits: only more hosts would make it faster."
	case w.Address*2 > w.Hosts:
		return "Most hosts share addresses, and each address has its own delay (--ip-delay)."
	case w.Robots*2 > w.Hosts:
		return "The robots.txt of most hosts is unavailable, and without it nothing may be fetched."
	case (w.Rest+w.Retry)*2 > w.Hosts:
		return "Most hosts back off after failures, or because they required it."
	case (w.Operator+w.Shut)*2 > w.Hosts:
		return "Most hosts with URLs left are paused by you, retired or refused."
	}
	return "Hosts wait for their delays: see the reason for each."
}
