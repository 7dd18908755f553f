package postgres

import (
	"encoding/binary"
	"fmt"
	"strings"

	"curtsy/frontier"
	"curtsy/frontier/canon"
)

// pack writes what a candidate has beside its URL: kind, depth, hops, embeds, away, then via, seed and tag with their
// lengths, as uvarints.
func pack(c frontier.Candidate) []byte {
	b := make([]byte, 0, 16+len(c.Via)+len(c.Seed)+len(c.Tag))
	for _, n := range [...]int{int(c.Kind), c.Depth, c.Hops, c.Embeds, c.Away} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	for _, s := range [...]string{c.Via, c.Seed, c.Tag} {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	return b
}

// unpack reads a candidate: the authority of its URL, its request target, and what pack wrote.
func unpack(a canon.Authority, target string, b []byte) (c frontier.Candidate, err error) {
	damaged := func() (frontier.Candidate, error) {
		return c, fmt.Errorf("a URL of %s: %w", a, frontier.ErrDamaged)
	}
	if c.URL, err = a.URL(target); err != nil {
		return damaged()
	}
	var numbers [5]int
	for i := range numbers {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			return damaged()
		}
		numbers[i], b = int(n), b[size:]
	}
	c.Kind, c.Depth, c.Hops, c.Embeds, c.Away = frontier.Kind(numbers[0]), numbers[1], numbers[2], numbers[3], numbers[4]
	for _, s := range [...]*string{&c.Via, &c.Seed, &c.Tag} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > uint64(len(b)-size) {
			return damaged()
		}
		*s, b = string(b[size:size+int(n)]), b[size+int(n):]
	}
	return c, nil
}

// text is s as the server takes it: UTF-8 without NUL.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "\ufffd")
}

// hostKey is the identity of a host: the fingerprint of its root.
func hostKey(secret []byte, a canon.Authority) int64 {
	u, err := a.URL("/")
	if err != nil {
		panic("frontier/postgres: an authority without a root: " + a.String()) // unreachable: every authority has one
	}
	return int64(frontier.Print(secret, u))
}
