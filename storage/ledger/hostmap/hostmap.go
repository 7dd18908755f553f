package hostmap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

type Hash [sha256.Size]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. The digits are in lower case.
func (h *Hash) UnmarshalText(b []byte) error {
	if _, err := hex.Decode(h[:], b[:min(len(b), 2*len(h))]); err != nil || h.String() != string(b) {
		return fmt.Errorf("%.80q is not a SHA-256 in hexadecimal", b)
	}
	return nil
}

func Key(origin, host string) Hash { return sha256.Sum256([]byte(origin + "\n" + host)) }

// Entry is a host's entry in the map. The zero value, with a Key, is a host without lines.
type Entry struct {
	Key    Hash   `json:"key"`
	Host   string `json:"host"`   // not part of the map; empty if unknown
	First  int64  `json:"first"`  // index of its first entry in the log
	Count  int64  `json:"count"`  // of its entries
	Digest Hash   `json:"digest"` // of their hashes
}

// Add adds the host's next line.
func (e *Entry) Add(index int64, h tlog.Hash) {
	if e.Count == 0 {
		e.First = index
	}
	e.Count++
	var b [2 * sha256.Size]byte
	copy(b[:], e.Digest[:])
	copy(b[sha256.Size:], h[:])
	e.Digest = sha256.Sum256(b[:])
}

func (e *Entry) value() Hash {
	b := make([]byte, 0, 128)
	b = append(strconv.AppendInt(b, e.First, 10), ' ')
	b = append(strconv.AppendInt(b, e.Count, 10), ' ')
	return sha256.Sum256(hex.AppendEncode(b, e.Digest[:]))
}

func leaf(key, value Hash) Hash {
	var b [1 + 2*sha256.Size]byte
	copy(b[1:], key[:])
	copy(b[1+sha256.Size:], value[:])
	return sha256.Sum256(b[:])
}

func node(left, right Hash) Hash {
	var b [1 + 2*sha256.Size]byte
	b[0] = 1
	copy(b[1:], left[:])
	copy(b[1+sha256.Size:], right[:])
	return sha256.Sum256(b[:])
}

// up returns the node above h, which is at a depth on the way to key; beside is its sibling.
func up(key Hash, depth int, h, beside Hash) Hash {
	if bit(key, depth-1) {
		return node(beside, h)
	}
	return node(h, beside)
}

func bit(key Hash, depth int) bool { return key[depth/8]>>(7-depth%8)&1 == 1 }

// shared returns the number of leading bits that two keys share.
func shared(a, b Hash) int {
	for i := range a {
		if x := a[i] ^ b[i]; x != 0 {
			return 8*i + bits.LeadingZeros8(x)
		}
	}
	return 8 * len(a)
}

// Compare orders entries by their keys, as Root and Prove take them.
func Compare(a, b Entry) int { return bytes.Compare(a.Key[:], b.Key[:]) }

// Host returns the host of a URL in the map, in lower case. It reads any text, simply enough for verifiers in other languages:
// the part between the first :// and the next of / ? # \ or the end; of that, the part after the last @, without a colon
// and digits at its end. A text without :// has the empty host.
func Host(url string) string {
	_, host, ok := strings.Cut(url, "://")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(host, `/?#\`); i >= 0 {
		host = host[:i]
	}
	host = host[strings.LastIndexByte(host, '@')+1:]
	if i := strings.LastIndexByte(host, ':'); i >= 0 && strings.Trim(host[i+1:], "0123456789") == "" {
		host = host[:i]
	}
	return strings.Map(func(r rune) rune { // ASCII only: canonical hosts have no other letters
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, host)
}

// Each yields entries in memory, for Root and Prove.
func Each(all []Entry) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

var errOrder = errors.New("hostmap: the entries are not in the order of their keys, or one is there twice")

// Root returns the root of the map of entries in the order of their keys, and their number. It passes each entry to see. It
// keeps only one path in memory. An error is of an entry, or of see.
func Root(sorted iter.Seq2[Entry, error], see ...func(e *Entry) error) (root Hash, n int64, err error) {
	var b builder
	for e, err := range sorted {
		for _, see := range see {
			if err == nil {
				err = see(&e)
			}
		}
		if err == nil {
			err = b.add(e.Key, leaf(e.Key, e.value()))
		}
		if err != nil {
			return Hash{}, 0, err
		}
		n++
	}
	return b.root(), n, nil
}

// builder computes the root of a range of keys below a node at the depth base.
type builder struct {
	base    int
	pending []placed // nodes that wait for their siblings, the upper ones first
	key     Hash     // of the entry that was added last
	last    Hash     // its leaf; it has no place until the next key is known
	left    int      // how many bits it shares with the one before; base without one
	full    bool     // there is such an entry
}

type placed struct {
	hash  Hash
	depth int
}

func (b *builder) add(key, leaf Hash) error {
	if !b.full {
		b.key, b.last, b.left, b.full = key, leaf, b.base-1, true
		return nil
	}
	right := shared(b.key, key)
	if right == 8*len(key) || bit(b.key, right) {
		return errOrder
	}
	if right < b.base {
		return fmt.Errorf("hostmap: keys of two ranges")
	}
	b.settle(max(b.left, right)+1, right+1)
	b.key, b.last, b.left = key, leaf, right
	return nil
}

// settle places the last leaf at depth, and carries it up to the depth to, joined with pending siblings.
func (b *builder) settle(depth, to int) {
	h := b.last
	for ; depth > to; depth-- {
		var beside Hash
		if n := len(b.pending); n > 0 && bit(b.key, depth-1) && b.pending[n-1].depth == depth {
			beside = b.pending[n-1].hash
			b.pending = b.pending[:n-1]
		}
		h = up(b.key, depth, h, beside)
	}
	b.pending = append(b.pending, placed{h, depth})
}

func (b *builder) root() Hash {
	if !b.full {
		return Hash{}
	}
	b.settle(max(b.left+1, b.base), b.base)
	return b.pending[0].hash
}

// Proof leads from the place of a key to the root of a map.
type Proof struct {
	Siblings []Hash // the hashes beside the path, from the root down
	Other    *Other // of an absent host: the one entry of the range that the path ends in; nil for an empty range
}

// Other is the entry of another host in a proof.
type Other struct {
	Key   Hash `json:"key"`
	Value Hash `json:"value"` // the hash of the map's value under its key
}

const MaxSiblings = 256 // the longest path

// Prove returns the entry of key in a map, whose entries come in the order of their keys, and its proof; without an entry,
// the proof of its absence.
func Prove(sorted iter.Seq2[Entry, error], key Hash) (p Proof, entry *Entry, err error) {
	f := finder{key: key, beside: map[int]group{}, at: -1}
	for e, err := range sorted {
		if err != nil {
			return Proof{}, nil, err
		}
		if err := f.add(e); err != nil {
			return Proof{}, nil, err
		}
	}
	f.close()
	p = f.proof()
	return p, f.found, nil
}

// finder gathers the siblings of the path to a key. Keys that share the same number of bits with it form one sibling.
type finder struct {
	key    Hash
	beside map[int]group // by the number of bits shared
	at     int           // the group that is being built; -1 for none
	built  builder
	first  Other
	count  int
	found  *Entry
	before *Hash
}

type group struct {
	root  Hash
	only  Other // the first of its entries
	count int
}

func (f *finder) add(e Entry) error {
	if f.before != nil && Compare(Entry{Key: *f.before}, e) >= 0 {
		return errOrder
	}
	f.before = &e.Key
	if e.Key == f.key {
		f.close()
		f.found = &e
		return nil
	}
	n := shared(f.key, e.Key)
	value := e.value()
	if n != f.at {
		f.close()
		f.at, f.built, f.first, f.count = n, builder{base: n + 1}, Other{e.Key, value}, 0
	}
	f.count++
	return f.built.add(e.Key, leaf(e.Key, value))
}

func (f *finder) close() {
	if f.at >= 0 {
		f.beside[f.at] = group{f.built.root(), f.first, f.count}
	}
	f.at = -1
}

func (f *finder) proof() (p Proof) {
	deepest, second := -1, -1
	for n := range f.beside {
		if n > deepest {
			deepest, second = n, deepest
		} else if n > second {
			second = n
		}
	}
	depth := deepest + 1
	// A range with one entry has no halves: the path of an absent key ends at it.
	if f.found == nil && deepest >= 0 && f.beside[deepest].count == 1 {
		of := f.beside[deepest].only
		p.Other, depth = &of, second+1
	}
	for n := range depth {
		p.Siblings = append(p.Siblings, f.beside[n].root)
	}
	return p
}

// ErrProof reports a proof that does not lead to the root of the map.
var ErrProof = errors.New("the proof does not lead to the root of the map of hosts")

// Check checks that the map with that root has the entry e under key, or with a nil e, none.
func Check(root, key Hash, e *Entry, p Proof) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("hostmap: %w: %s", ErrProof, fmt.Sprintf(format, args...))
	}
	if len(p.Siblings) > MaxSiblings {
		return bad("it has %d siblings, more than %d", len(p.Siblings), MaxSiblings)
	}
	var h Hash
	switch {
	case e != nil && p.Other != nil:
		return bad("it is of an absent host")
	case e != nil && e.Key != key:
		return bad("it is of another host")
	case e != nil:
		h = leaf(key, e.value())
	case p.Other != nil && (p.Other.Key == key || shared(p.Other.Key, key) < len(p.Siblings)):
		return bad("the other entry does not lie where the path ends")
	case p.Other != nil:
		h = leaf(p.Other.Key, p.Other.Value)
	}
	for depth := len(p.Siblings); depth > 0; depth-- {
		h = up(key, depth, h, p.Siblings[depth-1])
	}
	if h != root {
		return bad("it leads to %s, not to %s", h, root)
	}
	return nil
}
