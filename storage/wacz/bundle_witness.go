package wacz

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"curtsy/storage/audit"
	"curtsy/storage/audit/finding"
)

// A Package is a witness of its own archive: what it says of its files, and who signed that.
var _ audit.Witness = (*Package)(nil)

// Close implements audit.Witness: it tells what Open found. It comes behind the ledger's.
func (p *Package) Close(_ context.Context, r *audit.Result, found finding.Report) error {
	l := r.Ledger
	switch {
	case l == nil:
	case p.signer != "" && len(l.Keys) == 0:
		p.says = append(p.says, "whether who made the package also kept the ledger: the ledger names no key")
	case p.signer != "" && !slices.ContainsFunc(l.Keys, p.speaksFor):
		p.bad(digestName, "a signature by a key that signs the ledger in the package (archive reference)",
			fmt.Sprintf("key %s signed the package, and %s the ledger", named(p.signer), named(l.Keys...)))
	case p.signer == "" && len(l.Keys) > 0:
		p.unsigned(l.Keys)
		p.says = append(p.says, "whether who signed the ledger also made the package: its key did not sign it")
	}
	if l != nil && l.SignerKnown && (p.signer == "" || !slices.ContainsFunc(l.Keys, p.speaksFor)) {
		r.Withdraw(audit.SignedByKnown)
		p.says = append(p.says, "who made the lists of pages, the index and the report in it: the key that you know signed the "+
			"ledger, and not the package")
	}
	for _, f := range p.found {
		found(f)
	}
	for _, s := range p.says {
		r.CannotShow = append(r.CannotShow, "wacz: "+s)
	}
	p.check.OK = p.check.Wrong == 0
	r.Package = &p.check
	return nil
}

// unsigned names a package that its ledger's key did not sign. A crawl may be packed where that key is not.
func (p *Package) unsigned(keys []string) {
	p.note(digestName, "a signature of the package by a key that signs the ledger in it, which curtsy export --format wacz makes where "+
		"that key is (reference of audit findings)", fmt.Sprintf("key %s signed the ledger, and no such key the package: who "+
		"has it can have changed all but archive and ledger", named(keys...)))
}

// speaksFor reports whether the key that signed the package is this one of the ledger's, or took its place.
func (p *Package) speaksFor(key string) bool {
	return key == p.signer || slices.Contains(p.before, key)
}

// named are the names of verifier keys, of the first four.
func named(keys ...string) string {
	var names []string
	for _, k := range keys[:min(len(keys), 4)] {
		name, _, _ := strings.Cut(k, "+")
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// LeftOut is how many answers its manifest says are not in it, because their pages ask not to be archived.
func (p *Package) LeftOut() int64 { return p.check.LeftOut }

// Stated is the SHA-256 that the manifest states of a WARC file as it was before the packer left something out of it;
// "" where nothing is said to be left out.
func (p *Package) Stated(file string) string {
	return p.whole[strings.TrimPrefix(p.names[file], p.name+":")]
}

// Base is what a WARC file is called in the package's folder of the archive.
func (p *Package) Base(file string) string { return path.Base(p.names[file]) }

// Name calls the files of a result what they are called in the package.
func (p *Package) Name(r *audit.Result) {
	name := func(s *string) {
		if in, ok := p.names[*s]; ok {
			*s = in
		} else if *s == p.Ledger {
			*s = p.name + ":ledger"
		}
	}
	for i := range r.Files {
		name(&r.Files[i].Name)
	}
	var pairs []string
	for to, in := range p.names {
		pairs = append(pairs, to, in)
	}
	texts := strings.NewReplacer(pairs...)
	for i := range r.Findings {
		f := &r.Findings[i]
		name(&f.File)
		f.Observed = texts.Replace(f.Observed)
	}
	for _, a := range r.Archives {
		name(&a.File)
	}
	if r.Ledger != nil {
		name(&r.Ledger.Dir)
	}
}
