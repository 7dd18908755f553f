package layout

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Whoever is refused may have given no cut: the crawl remembers one. What is said helps both.
func TestALayoutThatCannotBeSaysWhatToGive(t *testing.T) {
	for _, tt := range []struct {
		layout Layout
		says   []string // nil: it can be
	}{
		{Layout{}, nil},
		{Layout{Kind: Flat}, nil},
		{Layout{Kind: Flat, Cut: MaxCut}, nil},
		{Layout{Kind: Host, Cut: 1}, []string{"--cut-dirs 1 ", "the layout is host", "give --layout flat as well", "--cut-dirs 0"}},
		{Layout{Kind: Flat, Cut: MaxCut + 1}, []string{"--cut-dirs 49", "from 0 to 48"}},
		{Layout{Kind: Flat, Cut: -1}, []string{"--cut-dirs -1", "from 0 to 48"}},
	} {
		err := tt.layout.Check()
		if (err == nil) != (tt.says == nil) {
			t.Errorf("%+v: %v", tt.layout, err)
			continue
		}
		for _, s := range tt.says {
			assert.Containsf(t, err.Error(), s, "%+v: %v", tt.layout, err)
		}
	}
}

func TestParse_LayoutOfEarlierVersion(t *testing.T) {
	if _, err := Parse("single"); err == nil || err.Error() != "the layout single was removed: write host or flat" {
		t.Errorf("%v", err)
	}
}
