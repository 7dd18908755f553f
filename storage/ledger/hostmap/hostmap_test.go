package hostmap

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestHostOfAnyText(t *testing.T) {
	for url, want := range map[string]string{
		"http://Example.org/a?b#c":       "example.org",
		"https://example.org:8443":       "example.org",
		"https://example.org:/":          "example.org",
		"http://user:pw@example.org:1/x": "example.org",
		"http://a@b@example.org":         "example.org",
		"http://[::1]:80/":               "[::1]",
		"http://[::1]/":                  "[::1]",
		"http://[2001:db8::f]/":          "[2001:db8::f]",
		`http://example.org\@evil.org/`:  "example.org",
		"http://example.org?x://y":       "example.org",
		"ftp:/example.org":               "",
		"example.org":                    "",
		"://x":                           "x",
		"":                               "",
		"http://EXÄMPLE.org":             "exÄmple.org",
	} {
		assert.Equalf(t, want, Host(url), "Host(%q)", url)
	}
}

// naive is the definition of the trie, word by word.
func naive(entries []Entry, depth int) Hash {
	switch len(entries) {
	case 0:
		return Hash{}
	case 1:
		return leaf(entries[0].Key, entries[0].value())
	}
	i := slices.IndexFunc(entries, func(e Entry) bool { return bit(e.Key, depth) })
	if i < 0 {
		i = len(entries)
	}
	return node(naive(entries[:i], depth+1), naive(entries[i:], depth+1))
}

// made is a map of n hosts. Some keys share many bits, unlike real hashes.
func made(r *rand.Rand, n int) []Entry {
	var all []Entry
	for i := range n {
		e := Entry{Host: fmt.Sprint("host", i), First: int64(i), Count: 1 + r.Int64N(9)}
		e.Key = Key("origin", e.Host)
		for j := range e.Digest {
			e.Digest[j] = byte(r.Uint32())
		}
		if len(all) > 0 && r.IntN(3) == 0 {
			e.Key = all[r.IntN(len(all))].Key
			at := r.IntN(256)
			e.Key[at/8] ^= 1 << (7 - at%8)
		}
		all = append(all, e)
	}
	slices.SortFunc(all, Compare)
	return slices.CompactFunc(all, func(a, b Entry) bool { return a.Key == b.Key })
}

func TestRootIsThatOfTheDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		all := made(r, n%40)
		root, count, err := Root(Each(all))
		if want := naive(all, 0); err != nil || root != want || count != int64(len(all)) {
			t.Fatalf("%d hosts: %v, %d, %v; want %v", len(all), root, count, err, want)
		}
	}
}

func TestProofsOfMembersAndOfAbsentHosts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 300 {
		all := made(r, n%30)
		root, _, _ := Root(Each(all))
		for i, e := range all {
			p, got, err := Prove(Each(all), e.Key)
			if err != nil || got == nil || *got != e {
				t.Fatalf("%v, %v", got, err)
			}
			require.NoError(t, Check(root, e.Key, got, p))
			wrong := e
			wrong.Count++
			if Check(root, e.Key, &wrong, p) == nil || Check(root, e.Key, nil, p) == nil {
				t.Fatal("another count, or none, passes")
			}
			// Without the host, the rest proves that it is absent, and the old root does not.
			rest := slices.Delete(slices.Clone(all), i, i+1)
			root2, _, _ := Root(Each(rest))
			p, got, err = Prove(Each(rest), e.Key)
			require.NoError(t, err)
			require.Nil(t, got)
			require.NoError(t, Check(root2, e.Key, nil, p))
			if Check(root, e.Key, nil, p) == nil || Check(root2, e.Key, &e, p) == nil {
				t.Fatal("a host passes as absent, or an absent one as there")
			}
		}
	}
}

func TestAChangedProofFails(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	all := made(r, 30)
	root, _, _ := Root(Each(all))
	for _, key := range []Hash{all[7].Key, Key("origin", "nobody")} {
		p, e, err := Prove(Each(all), key)
		require.NoError(t, err)
		for i := range p.Siblings {
			q := p
			q.Siblings = slices.Clone(p.Siblings)
			q.Siblings[i][i%32] ^= 1
			assert.ErrorIsf(t, Check(root, key, e, q), ErrProof, "sibling %d", i)
			q.Siblings = p.Siblings[:i]
			assert.ErrorIsf(t, Check(root, key, e, q), ErrProof, "%d siblings", i)
		}
		assert.ErrorIs(t, Check(root, key, e, Proof{Siblings: make([]Hash, MaxSiblings+1)}), ErrProof)
	}
}

func TestEntriesOutOfOrderAreRefused(t *testing.T) {
	all := made(rand.New(rand.NewPCG(7, 8)), 20)
	all[3], all[4] = all[4], all[3]
	_, _, err := Root(Each(all))
	assert.Error(t, err, "Root takes entries out of order")
	_, _, err = Prove(Each(all), all[9].Key)
	assert.Error(t, err, "Prove takes entries out of order")
	twice := []Entry{all[0], all[0]}
	_, _, err = Root(Each(twice))
	assert.Error(t, err, "Root takes an entry twice")
}

func TestDigestOfEntries(t *testing.T) {
	e := Entry{Key: Key("o", "h")}
	a, b := sha256.Sum256([]byte("a")), sha256.Sum256([]byte("b"))
	e.Add(4, a)
	e.Add(9, b)
	d := sha256.Sum256(append(make([]byte, 32), a[:]...))
	d = sha256.Sum256(append(d[:], b[:]...))
	if e.First != 4 || e.Count != 2 || e.Digest != d {
		t.Errorf("%+v", e)
	}
}
