package witness

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"curtsy/storage/ledger/checkpoint"
)

// The bounds of a list of logs.
const (
	maxLogsFile = 1 << 20 // bytes
	maxLogs     = 10_000  // lines
)

// Logs are the logs that a witness follows. The zero value is none.
type Logs struct {
	origins map[string][]checkpoint.Key
	below   []below
}

// below are all logs whose origins begin alike, as those of an operator's crawls do.
type below struct {
	prefix string // ends in a slash
	key    checkpoint.Key
}

// all ends an origin that stands for those that begin like it.
const all = "/*"

// Follow adds a log by its origin, or those below one by an origin that ends in /*. An empty origin stands for all logs of
// the key: those below its name.
func (l *Logs) Follow(origin string, k checkpoint.Key) {
	if origin == "" {
		origin = k.Name() + all
	}
	if prefix, ok := strings.CutSuffix(origin, "*"); ok && strings.HasSuffix(origin, all) {
		if b := (below{prefix, k}); !slices.Contains(l.below, b) {
			l.below = append(l.below, b)
		}
		return
	}
	if l.origins == nil {
		l.origins = map[string][]checkpoint.Key{}
	}
	if !slices.Contains(l.origins[origin], k) {
		l.origins[origin] = append(l.origins[origin], k)
	}
}

// Len is how many origins are followed, those that end in /* among them.
func (l Logs) Len() int { return len(l.origins) + len(l.below) }

// Keys are those that sign for an origin: none if it is not followed.
func (l Logs) Keys(origin string) []checkpoint.Key {
	keys := slices.Clone(l.origins[origin])
	for _, b := range l.below {
		if id, ok := strings.CutPrefix(origin, b.prefix); ok && id != "" && !slices.Contains(keys, b.key) {
			keys = append(keys, b.key)
		}
	}
	return keys
}

// Join returns what l and others follow together.
func (l Logs) Join(others Logs) (joined Logs) {
	for _, from := range []Logs{l, others} {
		for origin, keys := range from.origins {
			for _, k := range keys {
				joined.Follow(origin, k)
			}
		}
		for _, b := range from.below {
			joined.Follow(b.prefix+"*", b.key)
		}
	}
	return joined
}

// ParseLog reads ORIGIN=KEY, or KEY alone for all logs of that key, as Follow has them.
func ParseLog(text string) (origin string, k checkpoint.Key, err error) {
	if k, err = checkpoint.ParseKey(text); err == nil {
		return "", k, nil
	}
	// Origin and key may both have equals signs. The key's hash tells which one is meant.
	for i := range text {
		if text[i] != '=' || i == 0 {
			continue
		}
		if k, err := checkpoint.ParseKey(text[i+1:]); err == nil {
			return text[:i], k, nil
		}
	}
	return "", k, fmt.Errorf("%.200q is neither ORIGIN=KEY nor the verifier key of an operator, as curtsy ledger key prints it",
		text)
}

// ParseLogs reads a file of logs: on each line an origin, white space and a verifier key, or a key alone for all logs of
// that key, as Follow has them. Several lines may name one origin. Blank lines count for nothing, and those that begin with # neither.
func ParseLogs(b []byte) (l Logs, err error) {
	if len(b) > maxLogsFile {
		return Logs{}, fmt.Errorf("a list of logs has at most %d bytes", maxLogsFile)
	}
	n := 0
	for line := range strings.Lines(string(bytes.TrimPrefix(b, []byte("\ufeff")))) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexAny(line, " \t") + 1
		k, err := checkpoint.ParseKey(line[at:])
		if err != nil {
			return Logs{}, fmt.Errorf("line %d: %w; write an origin and a verifier key, or a key alone", n, err)
		}
		l.Follow(strings.TrimSpace(line[:at]), k)
		if l.Len() > maxLogs {
			return Logs{}, fmt.Errorf("line %d: a list has at most %d logs", n, maxLogs)
		}
	}
	return l, nil
}

// A List is a file of logs, and those that were given otherwise. It may be asked by many at once.
type List struct {
	path  string
	given Logs
	say   func(format string, args ...any)

	mu   sync.Mutex
	logs Logs  // of the file and given
	size int64 // of the file when it was read; -1: it was not there
	time time.Time
}

// OpenList reads the file at path, which need not be there, and joins the logs given to it. It is read again when it has
// changed; say is told of that, and of a change that cannot be read, which changes nothing.
func OpenList(path string, given Logs, say func(format string, args ...any)) (*List, error) {
	l := &List{path: path, given: given, say: say, logs: given, size: -1}
	if _, err := l.refresh(); err != nil {
		return nil, err
	}
	return l, nil
}

// Logs are the logs as they are listed now.
func (l *List) Logs() Logs {
	l.mu.Lock()
	defer l.mu.Unlock()
	changed, err := l.refresh()
	switch {
	case err != nil:
		l.say("%v; the logs are followed as before", err)
	case changed:
		l.say("%s has changed: %d origins are followed now", l.path, l.logs.Len())
	}
	return l.logs
}

// refresh reads the file if it has changed.
func (l *List) refresh() (changed bool, err error) {
	fi, err := os.Stat(l.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		changed = l.size >= 0
		l.logs, l.size, l.time = l.given, -1, time.Time{}
		return changed, nil
	case err != nil:
		return false, fmt.Errorf("witness: list of logs: %w", err)
	case fi.Size() == l.size && fi.ModTime().Equal(l.time):
		return false, nil
	case !fi.Mode().IsRegular() || fi.Size() > maxLogsFile:
		err = fmt.Errorf("it is no file of at most %d bytes", maxLogsFile)
	}
	l.size, l.time = fi.Size(), fi.ModTime() // a bad one is told of once
	var b []byte
	if err == nil {
		b, err = os.ReadFile(l.path)
	}
	var read Logs
	if err == nil {
		read, err = ParseLogs(b)
	}
	if err != nil {
		return false, fmt.Errorf("witness: %s: %w", l.path, err)
	}
	l.logs = read.Join(l.given)
	return true, nil
}
