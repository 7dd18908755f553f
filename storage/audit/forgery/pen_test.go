package forgery

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

// The ledger as docs/reference/ledger.md describes it, in the hand of a forger: this knows nothing of package ledger.

var (
	lineCount = regexp.MustCompile(`,"lines":[0-9]+`)
	first     = regexp.MustCompile(`,"first":[0-9]+`)
	runKey    = regexp.MustCompile(`,"key":"[^"]*"`)
	hostsMark = regexp.MustCompile(`"size":[0-9]+,"hosts":[0-9]+,"root":"[0-9a-f]+"`)
)

// remake makes the log of the lines anew, with a map of hosts and a checkpoint wherever there is a mark of hosts, and one
// at the end. Without a key nothing is signed. The tiles, which anybody can make, are left out.
func (e *evidence) remake(key *checkpoint.Signer) {
	e.remade = true
	e.beside = map[string]string{}
	e.mark()
	var log tree.Growing
	hosts := map[string]*hostmap.Entry{}
	var origin string
	lines := 0
	if n := len(e.book); n > 0 && !strings.HasPrefix(e.book[n-1], `{"mark":"hosts"`) {
		e.book = append(e.book, fmt.Sprintf(`{"mark":"hosts","time":%q,"size":0,"hosts":0,"root":"00"}`+"\n", e.end().Add(time.Minute).Format(stamp)))
	}
	for i, line := range e.book {
		body := strings.TrimSuffix(line, "\n")
		mark, ok := strings.CutPrefix(body, `{"mark":"`)
		switch {
		case strings.HasPrefix(mark, "begin") && ok:
			body = first.ReplaceAllString(body, fmt.Sprintf(`,"first":%d`, i))
			fallthrough
		case strings.HasPrefix(mark, "stop") && ok:
			body = lineCount.ReplaceAllString(body, fmt.Sprintf(`,"lines":%d`, lines))
		case strings.HasPrefix(mark, "run") && ok:
			body = runKey.ReplaceAllString(body, "")
			if key != nil {
				body = strings.TrimSuffix(body, "}") + fmt.Sprintf(`,"key":%q}`, key.VerifierKey())
			}
		case strings.HasPrefix(mark, "hosts") && ok:
			root, n := mapOf(hosts)
			body = hostsMark.ReplaceAllString(body, fmt.Sprintf(`"size":%d,"hosts":%d,"root":"%s"`, i, n, root))
		case !ok:
			lines++
		}
		var of struct{ URL, Origin string }
		if err := json.Unmarshal([]byte(body), &of); err != nil {
			e.t.Fatalf("%s: %v", body, err)
		}
		if origin == "" {
			origin = of.Origin
		}
		h := tree.EntryHash([]byte(body))
		log.Append(h)
		if host := hostmap.Host(of.URL); !ok && (e.omits == nil || !e.omits(host, i)) {
			if hosts[host] == nil {
				hosts[host] = &hostmap.Entry{Key: hostmap.Key(origin, host), Host: host}
			}
			hosts[host].Add(int64(i), h)
		}
		e.book[i] = body + "\n"
		if strings.HasPrefix(mark, "hosts") && ok {
			note, err := key.Sign(checkpoint.Checkpoint{Origin: origin, Size: log.Size(), Root: log.Root()})
			require.NoError(e.t, err)
			e.beside["checkpoint"], e.beside[fmt.Sprintf("checkpoints/%012d", log.Size())] = string(note), string(note)
			e.beside["hosts.jsonl"] = rowsOf(hosts)
		}
	}
}

// mark makes the marks of files fit, and puts those that are missing before the stop.
func (e *evidence) mark() {
	if e.torn || len(e.book) == 0 {
		return
	}
	all := e.around()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasPrefix(name, "warc/") && !strings.HasPrefix(name, "index/") {
			continue
		}
		of := fmt.Sprintf(`"name":%q,"octets":%d,"sha256":"%x"}`, name, len(all[name]), sha256.Sum256([]byte(all[name])))
		at := slices.IndexFunc(e.book, func(l string) bool {
			return strings.HasPrefix(l, `{"mark":"file"`) && strings.Contains(l, fmt.Sprintf(`"name":%q`, name))
		})
		if at >= 0 {
			before, _, _ := strings.Cut(e.book[at], `"name":`)
			e.book[at] = before + of + "\n"
			continue
		}
		line := fmt.Sprintf(`{"mark":"file","time":%q,`, e.end().Add(time.Minute).Format(stamp)) + of + "\n"
		if at = slices.IndexFunc(e.book, func(l string) bool { return strings.HasPrefix(l, `{"mark":"stop"`) }); at < 0 {
			at = len(e.book)
		}
		e.book = slices.Insert(e.book, at, line)
	}
}

// sorted are the hosts of a map by their keys.
func sorted(hosts map[string]*hostmap.Entry) []*hostmap.Entry {
	return slices.SortedFunc(maps.Values(hosts), func(a, b *hostmap.Entry) int { return bytes.Compare(a.Key[:], b.Key[:]) })
}

func mapOf(hosts map[string]*hostmap.Entry) (hostmap.Hash, int64) {
	root, n, _ := hostmap.Root(func(yield func(hostmap.Entry, error) bool) {
		for _, e := range sorted(hosts) {
			if !yield(*e, nil) {
				return
			}
		}
	})
	return root, n
}

// rowsOf is the file of a map.
func rowsOf(hosts map[string]*hostmap.Entry) string {
	var b strings.Builder
	for _, e := range sorted(hosts) {
		fmt.Fprintf(&b, `{"key":"%s","host":%q,"first":%d,"count":%d,"digest":"%s"}`+"\n", e.Key, e.Host, e.First, e.Count, e.Digest)
	}
	return b.String()
}

// resign is remake with the operator's key.
func (e *evidence) resign() { e.remake(operatorKey) }

// line returns the index of the first line that has all of these parts.
func (e *evidence) line(parts ...string) int {
	e.t.Helper()
	i := slices.IndexFunc(e.book, func(line string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(line, p) })
	})
	if i < 0 {
		e.t.Fatalf("no line has %q", parts)
	}
	return i
}

// lineOf returns the index of the line of an exchange.
func (e *evidence) lineOf(x exchange) int { return e.line(`"record":"` + x.id() + `"`) }

// edit replaces what a pattern matches in a line; it must match.
func (e *evidence) edit(i int, pattern, with string) {
	e.t.Helper()
	re := regexp.MustCompile(pattern)
	if !re.MatchString(e.book[i]) {
		e.t.Fatalf("%s is not in %s", pattern, e.book[i])
	}
	e.book[i] = re.ReplaceAllString(e.book[i], with)
}

// value sets the value of a field of a line, which must have it.
func (e *evidence) value(i int, name, value string) {
	e.t.Helper()
	e.edit(i, `"`+name+`":("(\\.|[^"\\])*"|[^,}]*)`, `"`+name+`":`+strings.ReplaceAll(value, "$", "$$"))
}

// cut takes a line out.
func (e *evidence) cut(i int) { e.book = slices.Delete(e.book, i, i+1) }
