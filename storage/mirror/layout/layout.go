package layout

import (
	"errors"
	"fmt"
)

// Kind says in which folders the files of a mirror are.
type Kind uint8

// The kinds.
const (
	Host Kind = iota // HOST/PATH
	Flat             // PATH, without its first Layout.Cut folders
)

var kinds = [...]string{Host: "host", Flat: "flat"}

// Words are the kinds as people write them.
func Words() []string { return kinds[:] }

func (k Kind) String() string { return kinds[k] }

// Parse reads a kind.
func Parse(s string) (Kind, error) {
	for k, word := range kinds {
		if word == s {
			return Kind(k), nil //nolint:gosec // there are few
		}
	}
	if s == "single" { // of earlier versions
		return Host, errors.New("the layout single was removed: write host or flat")
	}
	return Host, fmt.Errorf("%q is not a layout: write host or flat", s)
}

// Layout is how the files of a mirror are laid out. The zero value is HOST/PATH.
type Layout struct {
	Kind Kind
	Cut  int // leading folders that names leave out; of Flat alone
}

// MaxCut is the most folders that can be cut off: no name has more.
const MaxCut = maxDepth

// Check reports what is wrong with a layout.
func (l Layout) Check() error {
	switch {
	case l.Cut != 0 && l.Kind != Flat:
		return fmt.Errorf("--cut-dirs %d cuts folders off the names of --layout flat, and the layout is %s; give --layout flat as well, or --cut-dirs 0",
			l.Cut, l.Kind)
	case l.Cut < 0 || l.Cut > MaxCut:
		return fmt.Errorf("--cut-dirs %d: write how many folders to cut off, from 0 to %d", l.Cut, MaxCut)
	}
	return nil
}
