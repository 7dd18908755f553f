package witness

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/mod/sumdb/tlog"
)

func view(t *testing.T, h *history, size int, entries bool) View {
	v := View{Note: note(t, h.checkpoint(size), nil)}
	if entries {
		v.Root = func(n int64) (tlog.Hash, error) { return h.roots[n], nil }
	}
	return v
}

func TestRelate_TwoViews(t *testing.T) {
	h, fork, other := newHistory(t, "log", 20, 20, 0), newHistory(t, "log", 20, 7, 1), newHistory(t, "other", 20, 20, 0)
	for _, tt := range []struct {
		what string
		a, b View
		want Verdict
	}{
		{"equal", view(t, h, 9, false), view(t, h, 9, false), Verdict{Equal, 9}},
		{"equal, empty", view(t, h, 0, false), view(t, h, 0, true), Verdict{Equal, 0}},
		{"continued", view(t, h, 9, false), view(t, h, 20, true), Verdict{Continued, 9}},
		{"from nothing", view(t, h, 0, false), view(t, h, 20, false), Verdict{Continued, 0}},
		{"not known", view(t, h, 9, true), view(t, h, 20, false), Verdict{Unknown, -1}},
		{"one history up to there", view(t, h, 7, true), view(t, fork, 20, true), Verdict{Continued, 7}},
		{"fork of one size", view(t, h, 9, false), view(t, fork, 9, false), Verdict{Fork, -1}},
		{"fork", view(t, h, 9, false), view(t, fork, 20, true), Verdict{Fork, -1}},
		{"fork with both entries", view(t, h, 9, true), view(t, fork, 20, true), Verdict{Fork, 7}},
		{"fork at the end", view(t, h, 8, true), view(t, fork, 8, true), Verdict{Fork, 7}},
		{"another log", view(t, h, 9, true), view(t, other, 9, true), Verdict{Otherwise, -1}},
	} {
		if got, err := Relate(tt.a, tt.b); err != nil || got != tt.want {
			t.Errorf("%s: %+v %v, want %+v", tt.what, got, err, tt.want)
		}
		want := tt.want
		if want.Relation == Continued {
			want.Relation = Continues
		}
		if got, err := Relate(tt.b, tt.a); err != nil || got != want {
			t.Errorf("%s, from the other side: %+v %v, want %+v", tt.what, got, err, want)
		}
	}
}

func TestRelate_UnreadableEntries(t *testing.T) {
	h, fork := newHistory(t, "log", 20, 20, 0), newHistory(t, "log", 20, 7, 1)
	torn := errors.New("torn tile")
	bad := func(h *history, size int) View {
		v := view(t, h, size, true)
		v.Root = func(int64) (tlog.Hash, error) { return tlog.Hash{}, torn }
		return v
	}
	for name, pair := range map[string][2]View{
		"longer":       {view(t, h, 9, true), bad(h, 20)},
		"fork, first":  {bad(h, 9), view(t, fork, 20, true)},
		"fork, second": {view(t, fork, 9, true), bad(h, 9)},
	} {
		v, err := Relate(pair[0], pair[1])
		assert.ErrorIsf(t, err, torn, "%s: %+v", name, v)
	}
}
