package hostmap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// Hash is a key, a digest or a node of a map.
type Hash [sha256.Size]byte

// String is h in hexadecimal digits.
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

// Key is the key of a host in the map of the log with that origin.
func Key(origin, host string) Hash { return sha256.Sum256([]byte(origin + "\n" + host)) }

// Entry is what the map says of a host. The zero value, with a Key, is a host without entries.
type Entry struct {
	Key    Hash   `json:"key"`
	Host   string `json:"host"`   // not part of the map; empty when it is not known
	First  int64  `json:"first"`  // index of its first entry in the log
	Count  int64  `json:"count"`  // of its entries
	Digest Hash   `json:"digest"` // of their hashes
}

// Add takes the host's next entry in the log.
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

// value is the hash of what the map has under the key of e.
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

// up is the node above h, which lies at a depth on the way to key; beside is its sibling.
func up(key Hash, depth int, h, beside Hash) Hash {
	if bit(key, depth-1) {
		return node(beside, h)
	}
	return node(h, beside)
}

// bit is the bit of a key that tells the left half of a range at a depth from the right one.
func bit(key Hash, depth int) bool { return key[depth/8]>>(7-depth%8)&1 == 1 }

// shared is how many bits two keys have in common at their beginning.
func shared(a, b Hash) int {
	for i := range a {
		if x := a[i] ^ b[i]; x != 0 {
			return 8*i + bits.LeadingZeros8(x)
		}
	}
	return 8 * len(a)
}

// Compare orders entries as Root and Prove take them: by their keys.
func Compare(a, b Entry) int { return bytes.Compare(a.Key[:], b.Key[:]) }

// Host is the host of a URL, as the map has it: without scheme, user, port and path, and in lower case. It reads any
// text, in the same simple way as verifiers in other languages can: what stands between the first :// and the next of
// / ? # \ or the end; of that, what is behind the last @; of that, what is before a colon that only digits follow. A
// text without :// has the empty host.
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
	return lower(host)
}

// lower is s with ASCII letters in lower case. Others stay as they are: canonical hosts have none.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}
