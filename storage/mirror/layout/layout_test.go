package layout

import (
	"testing"
)

func TestParse_LayoutOfEarlierVersion(t *testing.T) {
	if _, err := Parse("single"); err == nil || err.Error() != "the layout single was removed: write host or flat" {
		t.Errorf("%v", err)
	}
}
