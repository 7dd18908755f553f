package reconcile

import (
	"testing"
	"time"

	"curtsy/storage"
	"curtsy/storage/audit/evidence"
)

// An attempt that reached no server ended the pause: its line says so.
func TestAnAttemptThatReachedNobodyExplainsAPause(t *testing.T) {
	base := time.Now().Add(time.Hour).Truncate(time.Microsecond)
	for name, c := range map[string]struct {
		url  string
		at   time.Duration
		want string
	}{
		"in between":      {"http://a.test/dead", 5 * time.Second, ""},
		"before":          {"http://a.test/dead", -5 * time.Second, "gap-told"},
		"after":           {"http://a.test/dead", 15 * time.Second, "gap-told"},
		"of another host": {"http://b.test/dead", 5 * time.Second, "gap-told"},
	} {
		e, l := pair(1, base.Add(10*time.Second))
		e.Since = base
		dead := storage.Line{Time: base.Add(c.at), URL: c.url, Decision: "allow", Reason: "connect", Attempt: 1, Outcome: "deferred"}
		lines := []storage.Line{dead, l}
		if c.at > 10*time.Second {
			lines = []storage.Line{l, dead}
		}
		_, found := compared(t, Options{Dir: written(t, false, lines...)}, []*evidence.Exchange{e}, nil)
		got := ""
		for _, f := range found {
			got += string(f.Code)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q: %+v", name, got, c.want, found)
		}
	}
}
