package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"curtsy/storage/ledger/hostmap"
	"curtsy/storage/ledger/tree"

	"golang.org/x/mod/sumdb/tlog"
)

// readingProof is proof.json as it is read: the nodes as hashes, for there may be millions.
type readingProof struct {
	Map   mapJSON
	nodes tree.Proof
}

// decodeProof reads proof.json from a stream, with at most so many nodes.
func decodeProof(in io.Reader, most int) (p readingProof, err error) {
	bad := func(why string) (readingProof, error) {
		return p, fmt.Errorf("%s: %s", proofName, why)
	}
	d := json.NewDecoder(in)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return bad("it is not a JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok || seen[name] {
			return bad("it is not a JSON object, or has a part twice")
		}
		seen[name] = true
		switch name {
		case "nodes":
			p.nodes, err = decodeNodes(d, most)
		case "map":
			p.Map, err = decodeMap(d)
		default:
			return bad("it has a part that it should not have")
		}
		if err != nil {
			return bad(err.Error())
		}
	}
	if t, err := d.Token(); err != nil || t != json.Delim('}') || !seen["nodes"] || !seen["map"] {
		return bad("it ends early, or lacks nodes or map")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return bad("it continues past its end")
	}
	if len(p.Map.Siblings) > hostmap.MaxSiblings {
		return bad(fmt.Sprintf("a path in the map has at most %d siblings", hostmap.MaxSiblings))
	}
	return p, nil
}

func decodeMap(d *json.Decoder) (m mapJSON, err error) {
	var raw json.RawMessage
	if err := d.Decode(&raw); err != nil {
		return m, err
	}
	if err := plain(raw); err != nil {
		return m, err
	}
	of := json.NewDecoder(bytes.NewReader(raw))
	of.DisallowUnknownFields()
	return m, of.Decode(&m)
}

func decodeNodes(d *json.Decoder, most int) (all tree.Proof, err error) {
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, errors.New("its nodes are not an array")
	}
	for d.More() {
		var h hostmap.Hash
		if err := d.Decode(&h); err != nil {
			return nil, err
		}
		if len(all) == most {
			return nil, fmt.Errorf("it has more than %d nodes, which no proof of its lines needs", most)
		}
		all = append(all, tlog.Hash(h))
	}
	_, err = d.Token()
	return all, err
}
