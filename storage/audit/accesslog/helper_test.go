package accesslog

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
	"curtsy/storage/audit/evidence"
	"curtsy/storage/audit/finding"
)

const ourAgent = "curtsy/1 (+https://o.example)"

// asked is an exchange as an honest archive of this crawler has it.
func asked(url string, began time.Time, took time.Duration, status int) *evidence.Exchange {
	authority := strings.Join(strings.SplitN(url, "/", 4)[:3], "/")
	return &evidence.Exchange{
		Place: finding.Place{File: "a.warc.gz", Offset: 7, Record: fmt.Sprintf("urn:uuid:%s@%d", url, began.UnixNano())}, URL: url, Authority: authority,
		Target: strings.TrimPrefix(url, authority), Began: began, Took: took, Ended: true, Resolution: time.Microsecond,
		Method: "GET", Agent: ourAgent, Status: status, Answered: status != 0, Robots: strings.HasSuffix(url, "/robots.txt"),
	}
}

// logged is the line of an exchange as nginx writes it: at its end.
func logged(e *evidence.Exchange, agent string) string {
	return fmt.Sprintf(`192.0.2.9 - - [%s] "GET %s HTTP/1.1" %d 5 "-" %q`, e.End().Format(timeForm), e.Target, e.Status, agent) + "\n"
}

// witnessed shows exchanges to a witness and returns what it found.
func witnessed(t testing.TB, w audit.Witness, es ...*evidence.Exchange) (*audit.Result, []finding.Finding) {
	t.Helper()
	var found []finding.Finding
	say := func(f finding.Finding) { found = append(found, f) }
	for _, e := range es {
		require.NoError(t, w.Exchange(t.Context(), e, say))
	}
	r := &audit.Result{Level: audit.SelfConsistent}
	require.NoError(t, w.Close(t.Context(), r, say))
	return r, found
}

func logFile(t testing.TB, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "access.log")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// codesOf lists findings as "code" or "(code)" for notes.
func codesOf(found []finding.Finding) string {
	var all []string
	for _, f := range found {
		c := string(f.Code)
		if f.Note {
			c = "(" + c + ")"
		}
		all = append(all, c)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}
