package forgery

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/audit"
)

// otherArchive is the same crawl as another crawler would have archived it: without our metadata, without a ledger.
type otherArchive struct{ *evidence }

func foreignArchive(e *evidence) otherArchive {
	e.book, e.alien = nil, true
	for _, x := range e.exchanges("") {
		e.drop(x.metadata)
	}
	var kept []*record
	for _, r := range e.records {
		switch {
		case r.is("metadata"), r.is("revisit"), r.is("request") && e.answerOf(r) == nil:
		case r.is("request") && e.answerOf(r).is("revisit"):
		default:
			kept = append(kept, r)
		}
	}
	e.records = kept
	for _, r := range e.records {
		if r.is("warcinfo") {
			r.block = "software: Otherbot/2\r\n"
		}
		if r.is("request") {
			r.block = strings.Replace(r.block, "User-Agent: curtsy/1", "User-Agent: Otherbot/2", 1)
		}
	}
	return otherArchive{e}
}

func (e *evidence) answerOf(ask *record) *record {
	for _, r := range e.records {
		if id := r.get("WARC-Record-ID"); (r.is("response") || r.is("revisit")) && id != "" && id == ask.get("WARC-Concurrent-To") {
			return r
		}
	}
	return nil
}

func (s otherArchive) show() trial {
	path := s.t.TempDir() + "/other.warc"
	s.put(path, s.archive())
	return trial{o: audit.Options{Files: []string{path}}}
}

func (s otherArchive) pair(url string) (ask, answer *record) {
	s.t.Helper()
	for _, r := range s.records {
		if r.is("request") && r.get("WARC-Target-URI") == url {
			ask, answer = r, s.answerOf(r)
		}
	}
	if answer == nil {
		s.t.Fatalf("no exchange with %s", url)
	}
	return ask, answer
}

func (s otherArchive) hurry(host string, span time.Duration) {
	var all []*record
	for _, r := range s.records {
		if strings.HasPrefix(r.get("WARC-Target-URI"), host) {
			all = append(all, r)
		}
	}
	from, err := time.Parse(time.RFC3339Nano, all[0].get("WARC-Date"))
	require.NoError(s.t, err)
	for i, r := range all {
		r.set("WARC-Date", from.Truncate(time.Second).Add(span*time.Duration(i)/time.Duration(len(all))).Format("2006-01-02T15:04:05Z"))
	}
}

func (s otherArchive) reverse(host string) {
	var at []int
	for i, r := range s.records {
		if url := r.get("WARC-Target-URI"); strings.HasPrefix(url, host) && !strings.HasSuffix(url, "/robots.txt") {
			at = append(at, i)
		}
	}
	for i, j := 0, len(at)-1; i < j; i, j = i+1, j-1 {
		s.records[at[i]], s.records[at[j]] = s.records[at[j]], s.records[at[i]]
	}
}

func (r *record) body(body string) {
	head, _, _ := strings.Cut(r.block, "\r\n\r\n")
	lines := strings.Split(head, "\r\n")
	lines = slices.DeleteFunc(lines, func(l string) bool {
		l = strings.ToLower(l)
		return strings.HasPrefix(l, "transfer-encoding:") || strings.HasPrefix(l, "content-encoding:") || l == fmt.Sprintf("content-length: %d", len(r.payload()))
	})
	r.block = strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}

// status replaces the status, and may add fields. Their names are no longer the answer's own.
func (r *record) status(line string) {
	first, rest, _ := strings.Cut(r.block, "\r\n")
	version, _, _ := strings.Cut(first, " ")
	_, more, _ := strings.Cut(line, "\r\n")
	name, _, _ := strings.Cut(more, ":")
	head, body, _ := strings.Cut(rest, "\r\n\r\n")
	lines := slices.DeleteFunc(strings.Split(head, "\r\n"), func(l string) bool {
		return name != "" && strings.HasPrefix(strings.ToLower(l), strings.ToLower(name)+":")
	})
	r.block = version + " " + line + "\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n" + body
}
