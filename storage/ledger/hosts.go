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
	"path/filepath"
	"strconv"

	"curtsy/frontier/durable"
	"curtsy/storage"
	"curtsy/storage/ledger/hostmap"
)

// HostsName is the file of the completeness map in the folder of a ledger.
const HostsName = "hosts.jsonl"

// HostsNext is the map of a checkpoint that is just being made. A kill between the two leaves the checkpoint with it.
const HostsNext = HostsName + newSuffix

// maxHostRow bounds a line of the file, in bytes: a URL is far shorter.
const maxHostRow = 1 << 20

// Hosts are the hosts in the completeness map of the ledger in dir, as of its latest checkpoint, in the order of their
// keys. A line that cannot be read is an error, and the last. It checks no root: hostmap.Root makes it.
func Hosts(dir string) iter.Seq2[hostmap.Entry, error] { return hostsIn(filepath.Join(dir, HostsName)) }

// hostsIn are the hosts in a file; none if it is not there.
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

// parseHost reads what appendHost wrote.
func parseHost(line []byte) (e hostmap.Entry, err error) {
	if err := json.Unmarshal(line, &e); err != nil {
		return e, err
	}
	if e.First < 0 || e.Count < 1 || e.Key == (hostmap.Hash{}) || e.Digest == (hostmap.Hash{}) { // null is no hash
		return e, errors.New("not a host of the map")
	}
	return e, nil
}

// appendHost appends a line of the file.
func appendHost(b []byte, e *hostmap.Entry) []byte {
	b = hex.AppendEncode(append(b, `{"key":"`...), e.Key[:])
	b = storage.AppendString(append(b, `","host":`...), e.Host)
	b = strconv.AppendInt(append(b, `,"first":`...), e.First, 10)
	b = strconv.AppendInt(append(b, `,"count":`...), e.Count, 10)
	b = hex.AppendEncode(append(b, `,"digest":"`...), e.Digest[:])
	return append(b, "\"}\n"...)
}

// writeHosts writes the hosts of a map, which come in the order of their keys, and returns its root and their number.
func writeHosts(to io.Writer, all iter.Seq2[hostmap.Entry, error]) (root hostmap.Hash, n int64, err error) {
	w := bufio.NewWriterSize(to, bufferSize)
	var row []byte
	root, n, err = hostmap.Root(func(yield func(hostmap.Entry, error) bool) {
		for e, err := range all {
			if err == nil {
				row = appendHost(row[:0], &e)
				_, err = w.Write(row)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	})
	if err == nil {
		err = w.Flush()
	}
	return root, n, err
}

// readBounded is readLine with another bound.
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
