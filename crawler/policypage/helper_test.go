package policypage

import (
	"context"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

var noon = time.Date(2026, 5, 3, 12, 0, 0, 0, time.UTC)

const verifier = "curtsy-0a1b2c3d+9f8e7d6c+AQECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g"

func statement() Statement {
	return Statement{
		Token: "libbot", UserAgent: "libbot/0.1.0 (+https://www.library.org/bot/) curtsy/0.1.0", Operator: "The Library",
		Purpose: "A yearly archive of the region's websites, for readers and researchers.", Contact: "crawl@library.org",
		Retention: "Pages are kept for good in the reading room; what was forgotten on request is deleted within a week.",
		Ranges:    []netip.Prefix{netip.MustParsePrefix("2001:db8:5::/48"), netip.MustParsePrefix("192.0.2.16/28")},
		Key:       verifier, URL: "https://www.library.org/bot/", Made: noon,
	}
}

func golden(t *testing.T, name string, b []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, b, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equalf(t, string(want), string(b), "%s is another; -update writes it:\n%s", path, b)
}

type site map[string]Answer

func (s site) ask(_ context.Context, url string) (Answer, error) {
	a, ok := s[url]
	if !ok {
		return Answer{URL: url, Status: 404}, nil
	}
	return a, nil
}

func publish(t *testing.T, s Statement) site {
	t.Helper()
	made := site{}
	for url, write := range map[string]func() ([]byte, error){
		s.URL: s.Page, s.beside(RangesName): s.RangesJSON, s.beside(CardName): s.CardJSON,
	} {
		b, err := write()
		require.NoError(t, err)
		made[url] = Answer{URL: url, Status: 200, Type: "application/json", Body: b}
	}
	return made
}

func wanted(s Statement) Wanted {
	return Wanted{Statement: s, Carried: s.URL, RangesKept: true, Now: noon.Add(time.Hour)}
}

func look(t *testing.T, s site, w Wanted) Findings {
	t.Helper()
	f, err := Look(t.Context(), w.URL, w, s.ask)
	require.NoError(t, err)
	return f
}

func disagreements(f Findings) (all []string) {
	for _, c := range f.Checks {
		if c.Result == Differs || c.Result == Missing {
			all = append(all, c.Document+" "+c.Subject+" "+string(c.Result))
		}
	}
	return all
}
