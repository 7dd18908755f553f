package wacz

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
)

// manifest is datapackage.json.
type manifest struct {
	Profile     string     `json:"profile"`
	Version     string     `json:"wacz_version"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Created     string     `json:"created"`
	Software    string     `json:"software,omitempty"`
	MainURL     string     `json:"mainPageUrl,omitempty"`
	MainDate    string     `json:"mainPageDate,omitempty"`
	Resources   []resource `json:"resources"`
	Metadata    metadata   `json:"metadata"` // not of the specification: where players look for title and description
	Curtsy      notes      `json:"curtsy"`   // a property of ours, as the specification allows
}

// metadata says again what players of today look for here.
type metadata struct {
	Title string `json:"title,omitempty"`
	Desc  string `json:"desc,omitempty"`
}

// notes are what the format has no place for.
type notes struct {
	Pages     int64     `json:"pages"`
	Records   int64     `json:"records"`
	LeftOut   []string  `json:"leftOut,omitempty"`
	NoArchive []reduced `json:"noarchive,omitempty"`
}

// reduced is a segment from which records were left out because their pages ask not to be archived.
type reduced struct {
	Path    string `json:"path"`
	Records int    `json:"recordsLeftOut"`
	Octets  int64  `json:"octetsLeftOut"`
	Whole   string `json:"hashOfTheWhole"` // of the segment in the crawl directory
}

func manifestOf(o Options, s *survey) manifest {
	m := manifest{
		Profile: "data-package", Version: "1.1.1", Title: o.Title, Description: o.Description, Created: stamp(s.last),
		Software: o.Software, Curtsy: notes{Pages: s.pages.n + s.extra.n, Records: s.records, LeftOut: o.LeftOut},
	}
	if s.elsewhere > 0 {
		m.Curtsy.LeftOut = append(slices.Clip(m.Curtsy.LeftOut),
			fmt.Sprintf("What %d revisit records repeat is not in this file: an earlier crawl archived it.", s.elsewhere))
	}
	if o.Version != "" {
		m.Software += " " + o.Version
	}
	if s.main != nil {
		m.MainURL, m.MainDate = s.main.URL, s.main.Time
		if u, err := url.Parse(s.main.URL); err == nil && m.Title == "" {
			m.Title = "Crawl of " + u.Host
		}
	}
	m.Metadata = metadata{m.Title, m.Description}
	for _, seg := range s.segments {
		if n := len(seg.cuts); n > 0 {
			m.Curtsy.NoArchive = append(m.Curtsy.NoArchive,
				reduced{"archive/" + seg.name, n, seg.cuts[n-1].before, "sha256:" + seg.whole})
		}
	}
	return m
}

// manifest writes datapackage.json and returns its hash.
func (b *bundle) manifest(ctx context.Context, m manifest) (hash string, err error) {
	m.Resources = b.resources
	text, err := indented(m)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]), b.add(ctx, "datapackage.json", again(text))
}

// digest writes datapackage-digest.json.
func (b *bundle) digest(ctx context.Context, hash string, o Options) error {
	d := struct {
		Path      string           `json:"path"`
		Hash      string           `json:"hash"`
		Signed    *signedData      `json:"signedData,omitempty"`
		Ledger    *ledgerSignature `json:"ledgerSignature,omitempty"`
		Rotations []string         `json:"ledgerRotations,omitempty"` // notes, which both keys have signed
	}{Path: "datapackage.json", Hash: hash}
	if o.Key != nil {
		signed, err := sign(o.Key, hash)
		if err != nil {
			return err
		}
		signed.Created, signed.Software, signed.Version = stamp(b.when), o.Software, o.Version
		d.Signed, d.Ledger = signed, signByLedger(o.Key, hash)
		for _, note := range o.Rotations {
			d.Rotations = append(d.Rotations, string(note))
		}
	}
	text, err := indented(d)
	if err != nil {
		return err
	}
	return b.add(ctx, "datapackage-digest.json", again(text))
}

func again(text []byte) func() (io.Reader, error) {
	return func() (io.Reader, error) { return bytes.NewReader(text), nil }
}

func indented(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("wacz: write the manifest: %w", err)
	}
	return append(b, '\n'), nil
}
