package scope

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"curtsy/frontier/canon"
)

const RuleSample = "scope:sample"

// A Sample is of one of these.
const (
	SampleHosts = "hosts" // hosts, "www." ignored, with all their pages
	SamplePages = "pages" // URLs, with their requisites
)

// DefaultSampleKey is the key of a Sample without one.
const DefaultSampleKey = "curtsy"

const sampleWhole = 1_000_000_000

// Sample is a reproducible share of a crawl, by Of, share and Key. The smaller of two samples with one Key is part of the larger
// one. The zero Sample is everything.
type Sample struct {
	Of    string // SampleHosts or SamplePages; empty for no sample
	parts uint64 // of sampleWhole
	Key   string // empty means DefaultSampleKey
	Seeds bool   // seeds, and the targets of their redirects, are also sampled; else they are in
}

// ParseSample reads "1%", "hosts:1%" or "pages:0.25%". Empty text is the zero Sample.
func ParseSample(text string) (Sample, error) {
	if text == "" {
		return Sample{}, nil
	}
	of, share, told := strings.Cut(text, ":")
	if !told {
		of, share = SampleHosts, text
	}
	if of != SampleHosts && of != SamplePages {
		return Sample{}, fmt.Errorf("%q: write a share of hosts or of pages: hosts:1%% or pages:1%%", text)
	}
	parts, err := partsOf(share)
	if err != nil {
		return Sample{}, fmt.Errorf("%q: %w", text, err)
	}
	return Sample{Of: of, parts: parts}, nil
}

// partsOf reads a percentage with up to 7 decimal places.
func partsOf(share string) (uint64, error) {
	number, ok := strings.CutSuffix(share, "%")
	whole, decimals, point := strings.Cut(number, ".")
	if !ok || whole == "" || point && decimals == "" || strings.Trim(whole+decimals, "0123456789") != "" {
		return 0, errors.New("write a percentage, as 1% or 0.25%")
	}
	if len(whole) > 3 || len(decimals) > 7 {
		return 0, errors.New("at most 100%, and at most 7 decimal places")
	}
	parts, err := strconv.ParseUint(whole+decimals+strings.Repeat("0", 7-len(decimals)), 10, 64)
	switch {
	case err != nil:
		return 0, err
	case parts == 0:
		return 0, errors.New("nothing would be left; leave the sample out for everything")
	case parts > sampleWhole:
		return 0, errors.New("more than 100%")
	}
	return parts, nil
}

// String returns the text for ParseSample.
func (s Sample) String() string {
	if s.Of == "" {
		return ""
	}
	text := fmt.Sprintf("%d.%07d", s.parts/1e7, s.parts%1e7)
	return s.Of + ":" + strings.TrimSuffix(strings.TrimRight(text, "0"), ".") + "%"
}

func (s *Sample) Holds(u canon.URL) bool {
	if s.Of == "" {
		return true
	}
	return s.draw(s.name(u)) < s.parts
}

// name is drawn for a URL: its host without "www.", or its key.
func (s *Sample) name(u canon.URL) string {
	if s.Of == SamplePages {
		return u.Key()
	}
	return strings.TrimPrefix(u.Authority().Host(), "www.")
}

// draw returns where a name falls: the first 8 bytes of its HMAC-SHA-256, scaled to sampleWhole. docs/guides/research-crawl.md
// documents it.
func (s *Sample) draw(name string) (part uint64) {
	key := s.Key
	if key == "" {
		key = DefaultSampleKey
	}
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(name))
	part, _ = bits.Mul64(binary.BigEndian.Uint64(h.Sum(nil)), sampleWhole)
	return part
}

// judge is the rule for candidates that are not seeds. A sample of pages includes requisites and redirects of its pages.
func (s *Sample) judge(c Candidate) opinion {
	if s.Of == SamplePages && (c.Embed || c.Redirect) {
		return none
	}
	return refuseIf(!s.Holds(c.URL))
}
