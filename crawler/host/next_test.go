package host

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"curtsy/frontier"
	"curtsy/frontier/canon"
	"curtsy/storage"
)

func TestRule21_AHostKeepsItsPaceOverAnUpdate(t *testing.T) {
	a := hostN(t, 1)
	n := State{
		LastEnd: 5_000_000, Failures: 3, Throttles: 2, Refusals: 1, Pages: 70, Sitemaps: 4, Forbidden: true, Run: 9, Spaced: 7, SpacedUntil: 8,
		Due: Pace{Pause: time.Minute, By: storage.ByRetryAfter}, Source: Source{Record: "r", Body: "b", BodyAt: 3}, History: []byte{1},
	}
	h := frontier.Host{
		Authority: a, Wait: time.Hour, Queued: 3, Hold: frontier.Hold{Act: frontier.Park},
		HostUpdate: frontier.HostUpdate{Condition: frontier.Refused, Reason: "no", Pace: time.Minute, Robots: []byte("policy"), Memory: n.Append(nil)},
	}
	next, err := NextGeneration(h)
	require.NoError(t, err)
	got, err := Read(next.Memory)
	require.NoError(t, err)
	if got.Pages != 0 || got.Sitemaps != 0 || got.History != nil {
		t.Errorf("it still counts %d pages, %d maps, %d octets of history", got.Pages, got.Sitemaps, len(got.History))
	}
	got.Pages, got.Sitemaps, got.History = n.Pages, n.Sitemaps, n.History
	assert.Equalf(t, string(h.Memory), string(got.Append(nil)), "%+v, want %+v", got, n)
	if next.Condition != frontier.Refused || next.Reason != "no" || next.Pace != h.Pace || next.Wait != h.Wait || string(next.Robots) != "policy" || next.Hold != h.Hold || next.Queued != 0 {
		t.Errorf("%+v", next)
	}
	h.Condition, h.Reason = frontier.Retired, "max-per-host"
	if next, err = NextGeneration(h); err != nil || next.Condition != frontier.Open || next.Reason != "" {
		t.Errorf("%+v %v", next, err)
	}
	if next, err = NextGeneration(frontier.Host{Authority: canon.Authority{}}); err != nil || len(next.Memory) != 0 {
		t.Errorf("%+v %v", next, err)
	}
	h.Memory = []byte{99}
	if _, err := NextGeneration(h); err == nil {
		t.Error("damaged notes are taken over")
	}
}
