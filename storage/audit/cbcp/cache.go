package cbcp

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// stored is what a cache would know of a URL: the last two answers that it could store, for a request may stand in the
// archive behind its own answer.
type stored struct{ last, before copyOf }

// copyOf is one stored answer. The zero copyOf is none.
type copyOf struct {
	at        int64 // when it was asked for, in microseconds of Unix
	fresh     int64 // until when it need not be asked for again; 0 when the answer does not say
	validator bool  // a conditional request can be made of it
}

// store takes an answer (RFC 9111 3): one that is whole, and that nothing forbids to store.
func (f *facts) store(m *message, status int, whole bool) {
	k := f.key(m.uri)
	s, known := f.stored[k]
	now := m.began.UnixMicro()
	if m.began.IsZero() || known && now < s.last.at || !known && len(f.stored) >= maxURLs {
		return
	}
	c := copyOf{at: now, validator: m.has("etag") || m.has("last-modified")}
	if status == http.StatusNotModified { // RFC 9111 4.3.4: what was stored is as good as new
		c.validator = c.validator || s.last.validator
		status = http.StatusOK
	}
	control := directives(m.field["cache-control"])
	_, never := control["no-store"]
	star := strings.TrimSpace(strings.Join(m.field["vary"], ",")) == "*"
	if !whole || never || star || status != http.StatusOK && status != http.StatusNonAuthoritativeInfo {
		delete(f.stored, k)
		return
	}
	if _, always := control["no-cache"]; !always {
		c.fresh = now + lifetime(m, control).Microseconds()
	}
	f.stored[k] = stored{c, s.last}
}

// directives reads Cache-Control (RFC 9111 5.2). The first of a name counts.
func directives(values []string) map[string]string {
	all := map[string]string{}
	for _, v := range values {
		for d := range strings.SplitSeq(v, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(d), "=")
			if name = strings.ToLower(name); all[name] == "" {
				all[name] = strings.Trim(value, `"`)
			}
		}
	}
	return all
}

// maxLife is the longest that an answer counts as fresh: a year (RFC 9111 1.2.2 has more than anybody needs).
const maxLife = 365 * 24 * time.Hour

// lifetime is how long an answer is fresh from when it came (RFC 9111 4.2.1, 4.2.3). Guesses (4.2.2) are no directives.
func lifetime(m *message, control map[string]string) time.Duration {
	first := func(name string) string {
		if v := m.field[name]; len(v) > 0 {
			return v[0]
		}
		return ""
	}
	var life time.Duration
	if v, ok := control["max-age"]; ok {
		life = seconds(v)
	} else if until, err := http.ParseTime(first("expires")); err == nil {
		if date, err := http.ParseTime(first("date")); err == nil {
			life = until.Sub(date)
		}
	}
	return max(0, min(life, maxLife)-seconds(first("age")))
}

func seconds(s string) time.Duration {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0 // RFC 9111 4.2.1: what is invalid is stale
	}
	return min(time.Duration(n)*time.Second, maxLife)
}

// repeat takes a request for a URL: did a stored answer make it needless, or could it have been conditional?
func (f *facts) repeat(m *message) {
	s, known := f.stored[f.key(m.uri)]
	if !known || m.began.IsZero() || !strings.HasPrefix(m.first, "GET ") || isRobots(m.uri) || m.has("range") {
		return
	}
	now := m.began.UnixMicro()
	c := s.last
	if c.at >= now {
		c = s.before
	}
	if c.at == 0 || c.at >= now {
		return
	}
	f.repeats++
	switch {
	case m.has("if-none-match") || m.has("if-modified-since"):
		f.conditional++
		return
	case now < c.fresh:
		m.at.Observed = "asked for again though the answer of " + clock(c.at) + " was fresh until " + clock(c.fresh)
	case c.validator:
		m.at.Observed = "asked for again without the validator of the answer of " + clock(c.at)
	default:
		return
	}
	f.nWasted++
	add(&f.wasted, m.at)
}

func clock(micros int64) string { return time.UnixMicro(micros).UTC().Format("2006-01-02T15:04:05Z") }

// isRobots reports whether a URL is that of a robots.txt, which has rules of its own (RFC 9309 2.4).
func isRobots(uri string) bool {
	path, _, _ := strings.Cut(uri, "?")
	return strings.HasSuffix(path, "/robots.txt") && strings.Count(path, "/") == 3
}
