package export

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage/cdxj"
	"curtsy/storage/sorted"
)

// mostSums is how many sums are held in memory.
const mostSums = 1 << 14

// sums adds up under keys, any number of them: those that no longer fit into memory go through an external sort.
type sums[S any] struct {
	add  func(to, more *S) // in whatever order
	held map[string]*S
	rest *sorted.Rows[*S]
}

func newSums[S any](in *Inputs, add func(to, more *S)) *sums[S] {
	return &sums[S]{add: add, held: map[string]*S{}, rest: sorted.NewRows[*S](in.temp, sortMemory)}
}

// of returns the sum of a key, which holds until the next call.
func (s *sums[S]) of(key string) (*S, error) {
	if sum := s.held[key]; sum != nil {
		return sum, nil
	}
	if len(s.held) >= mostSums {
		if err := s.spill(); err != nil {
			return nil, err
		}
	}
	sum := new(S)
	s.held[key] = sum
	return sum, nil
}

// spill makes room.
func (s *sums[S]) spill() error {
	for _, key := range slices.Sorted(maps.Keys(s.held)) {
		if err := s.rest.Add(key, s.held[key]); err != nil {
			return fmt.Errorf("export: %w", err)
		}
	}
	clear(s.held)
	return nil
}

// all gives each key with its sum to see, in the order of keys.
func (s *sums[S]) all(see func(key []string, sum *S) error) error {
	if err := s.spill(); err != nil {
		return err
	}
	var last sorted.Row[*S]
	for row, err := range s.rest.All() {
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if last.Value != nil && row.Key == last.Key {
			s.add(last.Value, row.Value)
			continue
		}
		if last.Value != nil {
			if err := see(strings.Split(last.Key, keySep), last.Value); err != nil {
				return err
			}
		}
		last = row
	}
	if last.Value == nil {
		return nil
	}
	return see(strings.Split(last.Key, keySep), last.Value)
}

func (s *sums[S]) close(err error) error { return errors.Join(err, s.rest.Close()) }

// keySep separates the parts of a key. No part contains it or a lesser byte, so keys sort as their parts do.
const keySep = "\x01"

func keyOf(parts ...string) string {
	for i, p := range parts {
		parts[i] = plainPart(p)
	}
	return strings.Join(parts, keySep)
}

// plainPart is a part as its column has it, without control characters.
func plainPart(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if strings.ContainsAny(s, "\x00\x01") {
		s = strings.NewReplacer("\x00", "\uFFFD", "\x01", "\uFFFD").Replace(s)
	}
	return s
}

// hostOf is the authority of a URL, with the sort key of its first page; both are empty for what is no web address.
func hostOf(url string) (key, authority string) {
	u, err := canon.Parse(url)
	if err != nil {
		return "", ""
	}
	return cdxj.Key(u.Authority().Origin() + "/"), u.Authority().String()
}
