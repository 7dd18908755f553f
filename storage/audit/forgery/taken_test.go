package forgery

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"curtsy/storage/redact"
)

// Whatever is taken down of the polite crawl, by its URL or with all of its host, bodies alone or everything, nothing of
// what is left accuses anybody.
func TestATakedownAccusesNobody(t *testing.T) {
	dir := t.TempDir()
	crawl(t, dir)
	var subjects []redact.Subject
	for _, x := range readEvidence(t, dir).exchanges("") {
		url := x.url()
		_, rest, _ := strings.Cut(url, "://")
		host, _, _ := strings.Cut(rest, "/")
		for _, s := range []redact.Subject{
			{Text: url, Covers: func(other string) bool { return other == url }},
			{Text: host, Covers: func(other string) bool { return strings.HasPrefix(other, "http://"+host+"/") }, Host: true},
		} {
			if !slices.ContainsFunc(subjects, func(o redact.Subject) bool { return o.Text == s.Text }) {
				subjects = append(subjects, s)
			}
		}
	}
	taken, every, least := 0, 1, 50
	if testing.Short() {
		every, least = 6, 2 // which of them these are is the order of the crawl
	}
	for i, s := range subjects {
		if i%every > 0 {
			continue
		}
		for _, all := range []bool{false, true} {
			after := t.TempDir()
			require.NoError(t, os.CopyFS(after, os.DirFS(dir)))
			if err := takeDown(t, after, s, all); errors.Is(err, redact.ErrNothing) || errors.Is(err, redact.ErrDone) {
				continue // a robots.txt stays with its host, and some bodies were not kept
			} else if err != nil {
				t.Fatal(err)
			}
			taken++
			if r := directory(after).judge(t); !r.Clean {
				t.Errorf("%s, all of it %v: %v%s", s.Text, all, violations(r), findings(r))
			}
		}
	}
	if taken < least {
		t.Errorf("%d of %d subjects were taken down", taken, len(subjects))
	}
}
