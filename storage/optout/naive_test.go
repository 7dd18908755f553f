package optout

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"curtsy/frontier/canon"

	"github.com/stretchr/testify/require"
)

// naive compares an entry with a URL by its documentation, for hosts and paths in lower case without escapes.
func naive(entry string, u canon.URL) bool {
	scheme, rest, schemed := strings.Cut(entry, "://")
	if !schemed {
		scheme, rest = "", entry
	}
	if p, err := netip.ParsePrefix(entry); err == nil {
		a, literal := u.Authority().Addr()
		return literal && p.Contains(a)
	}
	site, path, _ := strings.Cut(rest, "/")
	host, port, ported := strings.Cut(site, ":")
	switch {
	case schemed && scheme != u.Scheme():
		return false
	case ported && port != u.Authority().Port():
		return false
	case schemed && !ported && u.Authority().Port() != map[string]string{"http": "80", "https": "443"}[scheme]:
		return false
	case strings.HasPrefix(host, "."):
		return strings.HasSuffix("."+u.Host(), host)
	}
	if path, whole := strings.CutSuffix(path, "$"); whole {
		return u.Host() == host && u.RequestURI() == "/"+path
	}
	return u.Host() == host && strings.HasPrefix(u.RequestURI(), "/"+path)
}

func TestRule16_AListIsAsASlowReadingHasIt(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 0))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	hits, misses := 0, 0
	for range 3000 {
		var entries []string
		for range rng.IntN(5) {
			host := pick("a.test", "b.a.test", "c.b.a.test", "test", "198.51.100.1", "198.51.100.77")
			switch rng.IntN(4) {
			case 0:
				entries = append(entries, "."+pick("a.test", "b.a.test", "test", "x.test"))
			case 1:
				entries = append(entries, pick("198.51.100.0/24", "198.51.100.1/32", "198.51.0.0/16", "198.51.100.64/26"))
			default:
				entries = append(entries, pick("", "", "http://", "https://")+host+pick("", "", ":80", ":8080")+pick("", "", "/", "/p", "/p/q", "/p?q", "/$", "/p$", "/p?q=1$"))
			}
		}
		l := list(t, strings.Join(entries, "\n"))
		for range 20 {
			u := url(t, pick("http://", "https://")+pick("a.test", "b.a.test", "d.c.b.a.test", "test", "xa.test", "198.51.100.1", "198.51.100.77", "198.51.1.1")+
				pick("", ":80", ":443", ":8080")+pick("", "/p", "/p/q/r", "/p?q=1", "/q"))
			var want []string
			for i, e := range entries {
				if naive(e, u) {
					want = append(want, fmt.Sprint(i+1))
				}
			}
			e, got := l.URL(u)
			if got != (len(want) > 0) || got && !strings.Contains(" "+strings.Join(want, " ")+" ", fmt.Sprintf(" %d ", e.Line)) {
				t.Fatalf("%q: %s is under line %d (%v), want one of %v", entries, u, e.Line, got, want)
			}
			if got {
				hits++
			} else {
				misses++
			}
		}
	}
	require.Truef(t, hits >= 1000 && misses >= 1000, "%d hits, %d misses: the test shows little", hits, misses)
}
