package proof

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"
)

// prove writes marks and proofs.
func (m *maker) prove() error {
	var marks indexed
	err := m.write(marksName, func(w io.Writer) error {
		var b []byte
		for _, r := range m.Marks {
			if _, err := marks.add(r); err != nil {
				return err
			}
			b = r.append(b)
		}
		_, err := w.Write(b)
		return err
	})
	if err != nil {
		return err
	}
	all, err := m.lines.with(&marks)
	if err != nil {
		return err
	}
	nodes, err := tree.ProveMany(m.Hashes, m.note.Size, all.indexes)
	if err != nil {
		return err
	}
	if err := tree.CheckMany(nodes, m.note.Size, m.note.Root, all.indexes, all.hashes); err != nil {
		return fmt.Errorf("%w: lines were changed, or are missing (%w)", ErrDamaged, err)
	}
	if m.proofs.Map, err = m.proveHost(); err != nil {
		return err
	}
	m.proofs.Nodes = make([]hostmap.Hash, len(nodes))
	for i, h := range nodes {
		m.proofs.Nodes[i] = hostmap.Hash(h)
	}
	b, err := json.Marshal(m.proofs)
	if err != nil {
		return err
	}
	return m.member(proofName, b)
}

// proveHost proves what the map says of the host, and that the lines are all of them.
func (m *maker) proveHost() (j mapJSON, err error) {
	p, e, err := hostmap.Prove(m.Hosts, m.entry.Key)
	if err != nil {
		return j, err
	}
	if err := hostmap.Check(m.hosts.Root, m.entry.Key, e, p); err != nil {
		return j, fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	j.Siblings = append([]hostmap.Hash{}, p.Siblings...) // an empty list is [] in JSON
	j.Other = (*otherJSON)(p.Other)
	if e == nil {
		if m.entry.Count > 0 {
			return j, fmt.Errorf("%w: the completeness map does not have the host, and the ledger has %d lines of it", ErrDamaged,
				m.entry.Count)
		}
		return j, nil
	}
	if e.First != m.entry.First || e.Count != m.entry.Count || e.Digest != m.entry.Digest {
		return j, fmt.Errorf("%w: the completeness map has %d lines of the host, and the ledger %d, or others", ErrDamaged,
			e.Count, m.entry.Count)
	}
	j.Entry = &entryJSON{e.First, e.Count, e.Digest}
	return j, nil
}

func (m *maker) page() error {
	m.made.Summary.close()
	b, err := render(m.note, m.hosts, m.Host, m.made.Summary)
	if err != nil {
		return err
	}
	return m.member(pageName, b)
}

func (m *maker) manifest() error {
	slices.SortFunc(m.files, func(a, b member) int { return strings.Compare(a.Name, b.Name) })
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", " ")
	if err := e.Encode(manifest{Format, pageVersion, m.Software, m.Host, m.files}); err != nil {
		return err
	}
	return m.member(manifestName, b.Bytes())
}
