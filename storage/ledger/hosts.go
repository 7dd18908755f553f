package ledger

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/ledger/hostmap"
)

const (
	HostsName = "hosts.jsonl"         // the completeness map in the folder of a ledger
	HostsNext = HostsName + newSuffix // the map of a checkpoint in the making: a kill may leave that checkpoint with it
)

// maxHostRow bounds a line of the file, in bytes: a URL is far shorter.
const maxHostRow = 1 << 20

// Hosts yields the hosts in the completeness map of the ledger in dir, as of its latest checkpoint, in the order of their
// keys. An error is the last. It checks no root: hostmap.Root computes it.
func Hosts(dir string) iter.Seq2[hostmap.Entry, error] { return hostsIn(filepath.Join(dir, HostsName)) }

func hostsIn(path string) iter.Seq2[hostmap.Entry, error] {
	return func(yield func(hostmap.Entry, error) bool) {
		f, err := durable.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(hostmap.Entry{}, fmt.Errorf("ledger: hosts: %w", err))
			return
		}
		defer f.Close()
		r := bufio.NewReaderSize(f, bufferSize)
		var long []byte
		for n := 1; ; n++ {
			b, err := readBounded(r, &long, maxHostRow)
			if errors.Is(err, io.EOF) && len(b) == 0 {
				return
			}
			var e hostmap.Entry
			if err == nil {
				e, err = parseHost(b)
			}
			if err != nil {
				yield(hostmap.Entry{}, fmt.Errorf("ledger: hosts: %s line %d: %w", path, n, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

func parseHost(line []byte) (e hostmap.Entry, err error) {
	if err := json.Unmarshal(line, &e); err != nil {
		return e, err
	}
	if e.First < 0 || e.Count < 1 || e.Key == (hostmap.Hash{}) || e.Digest == (hostmap.Hash{}) { // null is not a hash
		return e, errors.New("not a host of the map")
	}
	return e, nil
}

func appendHost(b []byte, e *hostmap.Entry) []byte {
	b = hex.AppendEncode(append(b, `{"key":"`...), e.Key[:])
	b = storage.AppendString(append(b, `","host":`...), e.Host)
	b = strconv.AppendInt(append(b, `,"first":`...), e.First, 10)
	b = strconv.AppendInt(append(b, `,"count":`...), e.Count, 10)
	b = hex.AppendEncode(append(b, `,"digest":"`...), e.Digest[:])
	return append(b, "\"}\n"...)
}

// writeHosts writes the hosts of a map in the order of their keys, and returns root and number.
func writeHosts(to io.Writer, all iter.Seq2[hostmap.Entry, error]) (root hostmap.Hash, n int64, err error) {
	w := bufio.NewWriterSize(to, bufferSize)
	var row []byte
	root, n, err = hostmap.Root(all, func(e *hostmap.Entry) error {
		row = appendHost(row[:0], e)
		_, err := w.Write(row)
		return err
	})
	if err == nil {
		err = w.Flush()
	}
	return root, n, err
}

func readBounded(r *bufio.Reader, long *[]byte, limit int) ([]byte, error) {
	b, _, err := readLine(r, long)
	if len(b) > limit {
		return nil, errLong
	}
	if err == nil {
		b = bytes.TrimSuffix(b, []byte("\n"))
	} else if errors.Is(err, io.EOF) && len(b) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

// hostCheck builds the completeness map of a checked ledger and compares the marks of hosts with it. Building it for each
// mark would take marks times hosts, so it does if that costs less than the lines read so far, and for the last mark.
type hostCheck struct {
	origin  string
	tail    tail    // entries that are not in the map yet
	file    string  // the map so far; empty before the first entries are in it
	pending *Mark   // the last mark of hosts, not checked yet
	last    *Mark   // the last one
	place   Problem // of it
	credit  int64   // hosts that may be read
	unknown int64   // stubs
	gap     bool    // lines are missing, or the map is not wanted: it is not checked
}

const (
	hostsPerLine = 8       // read for each line
	freeHosts    = 1 << 20 // read in addition
	lag          = 1 << 17 // entries: so far before its place may end what a mark of hosts is of
)

func (h *hostCheck) line(c *checker, m *Mark) error {
	if h.gap {
		h.tail.reset(c.index)
		return nil
	}
	h.credit = min(h.credit+hostsPerLine, 1<<40)
	if m != nil && m.Kind == KindHosts {
		h.pending, h.last = m, m
		h.place = Problem{Fault: MapDiffers, Segment: c.segment, Row: c.row, Index: c.index - 1}
		if max(m.Hosts, int64(len(h.tail.names))) <= h.credit {
			return h.check(c)
		}
	}
	if len(h.tail.hashes) < 2*lag {
		return nil
	}
	if h.pending != nil {
		if err := h.check(c); err != nil {
			return err
		}
	}
	var err error
	if n := len(h.tail.hashes) - lag; n > 0 {
		_, _, err = h.take(n)
	}
	return err
}

func (h *hostCheck) report(c *checker, format string, args ...any) {
	p := h.place
	p.Text = fmt.Sprintf(format, args...)
	c.found = append(c.found, p)
}

func (h *hostCheck) check(c *checker) error {
	m := h.pending
	h.pending = nil
	n := m.Size - h.tail.base
	if n < 0 || n > int64(len(h.tail.hashes)) || m.Size > h.place.Index {
		h.report(c, "the map is said to be of %d entries, which is not a little before its place", m.Size)
		return nil
	}
	root, hosts, err := h.take(int(n))
	if err != nil {
		return err
	}
	h.credit -= hosts
	if h.unknown == 0 && (root != m.Root || hosts != m.Hosts) {
		h.report(c, "it states the root %s of %d hosts, and the lines have %s of %d", m.Root, m.Hosts, root, hosts)
	}
	return nil
}

func (h *hostCheck) base() iter.Seq2[hostmap.Entry, error] {
	if h.file == "" {
		return hostmap.Each(nil)
	}
	return hostsIn(h.file)
}

func (h *hostCheck) take(n int) (root hostmap.Hash, hosts int64, err error) {
	f, err := os.CreateTemp("", "curtsy-hosts-*")
	if err != nil {
		return root, 0, err
	}
	root, hosts, err = writeHosts(f, h.tail.merged(h.origin, n, h.base()))
	err = errors.Join(err, f.Close(), h.close())
	h.file = f.Name()
	h.tail.drop(n)
	return root, hosts, err
}

func (h *hostCheck) close() error {
	if h.file == "" {
		return nil
	}
	err := os.Remove(h.file)
	h.file = ""
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (h *hostCheck) end(c *checker) error {
	if h.gap || h.last == nil {
		return nil
	}
	if h.pending != nil {
		if err := h.check(c); err != nil {
			return err
		}
	}
	if h.unknown == 0 {
		return nil
	}
	return h.partly(c)
}

// partly checks the map of a ledger with stubs, whose hosts are unknown: the stored map must have the root of the last mark,
// the lines of each host, and beyond them as many as there are stubs.
func (h *hostCheck) partly(c *checker) error {
	stored, n, err := hostmap.Root(Hosts(c.dir))
	if err != nil || stored != h.last.Root || n != h.last.Hosts {
		if now, err := latest(c.dir); err == nil && now.Size != c.notes.last {
			return nil // the crawl runs, and the map is a later one
		}
		h.report(c, "%s is not the map that it states, and lines were forgotten: it cannot be checked", HostsName)
		return nil
	}
	next, stop := iter.Pull2(h.base())
	defer stop()
	mine, err, ok := next()
	more := int64(0)
	for e, serr := range Hosts(c.dir) {
		if err := errors.Join(serr, err); err != nil {
			return err
		}
		order := 1
		if ok {
			order = hostmap.Compare(mine, e)
		}
		switch {
		case order > 0: // all of its lines were redacted
			more += e.Count
			continue
		case order < 0 || e.Count < mine.Count, e.Count == mine.Count && (e.First != mine.First || e.Digest != mine.Digest):
			h.report(c, "it does not have the lines of the host %.200q", mine.Host)
			return nil
		}
		more += e.Count - mine.Count
		mine, err, ok = next()
	}
	if ok || more > h.unknown {
		h.report(c, "it has other lines than there are and than were forgotten")
	}
	return nil
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// maxStubs bounds the stubs, and the named ones, that are compared.
const maxStubs = 1 << 20

// stubs compares redacted lines with the marks that name them.
type stubs struct {
	open    map[int64]bool // stubs that no mark has named; false: named, and not reached yet
	tooMany bool
}

func (s *stubs) set(index int64, seen bool) {
	if s.open == nil {
		s.open = map[int64]bool{}
	}
	was, there := s.open[index]
	switch {
	case there && was != seen:
		delete(s.open, index)
	case there:
	case len(s.open) >= maxStubs:
		s.tooMany = true
	default:
		s.open[index] = seen
	}
}

func (s *stubs) end(c *checker) {
	var bare []int64
	for i, seen := range s.open {
		if seen {
			bare = append(bare, i)
		}
	}
	slices.Sort(bare)
	switch {
	case len(bare) > 0:
		c.report(Unnamed, "entry %d was removed (of %d in total), and no mark of a redaction names it", bare[0], len(bare))
	case s.tooMany:
		c.report(Unnamed, "more than %d lines were removed: whether marks name all of them was not checked", maxStubs)
	}
}
