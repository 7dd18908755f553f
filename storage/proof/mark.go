package proof

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/ledger/hostmap"
)

// The marks of a ledger that a verifier reads (docs/reference/ledger.md). It reads them by itself, not with the writer's code.
const (
	markBegin     = "begin"
	markRun       = "run"
	markHosts     = "hosts"
	markKey       = "key"
	markRedaction = "redaction"
	markStop      = "stop"
)

// timeForm is how marks write a time.
const timeForm = "2006-01-02T15:04:05.000000Z"

// schema is the version of the ledger's lines that a bundle is of.
const schema = 3

// mark is a mark, as far as it counts here.
type mark struct {
	Kind    string    `json:"mark"`
	Time    time.Time `json:"time"`
	Schema  int       `json:"schema"`
	Origin  string    `json:"origin"`
	Killed  bool      `json:"killed"`
	Size    int64     `json:"size"`
	Hosts   int64     `json:"hosts"`
	Root    string    `json:"root"`
	Note    string    `json:"note"`
	Extent  string    `json:"extent"`
	Reason  string    `json:"reason"`
	Subject string    `json:"subject_sha256"`
	Entries entries   `json:"entries"`

	index    int64
	root     hostmap.Hash
	rotation checkpoint.Rotation
}

// entries are the indexes that a redaction names; a mark of another kind has a number there.
type entries []int64

// UnmarshalJSON implements json.Unmarshaler.
func (e *entries) UnmarshalJSON(b []byte) error {
	if len(b) == 0 || b[0] != '[' {
		return nil
	}
	return json.Unmarshal(b, (*[]int64)(e))
}

func parseMark(r Row) (*mark, error) {
	m := &mark{index: r.Index}
	if err := json.Unmarshal(r.Public, m); err != nil {
		return nil, errors.New("not a mark")
	}
	var err error
	switch m.Kind {
	case markHosts:
		m.root, err = parseHash(m.Root)
	case markKey:
		m.rotation, err = checkpoint.ParseRotation([]byte(m.Note))
	}
	if err != nil {
		return nil, fmt.Errorf("its mark %s: %w", m.Kind, err)
	}
	if form := m.Time.UTC().Format(timeForm); m.Kind != markBegin && !bytes.Contains(r.Public, []byte(`"time":"`+form+`"`)) {
		return nil, fmt.Errorf("its mark %s: the time is not of the form %s", m.Kind, timeForm)
	}
	return m, nil
}
