package repair_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"curtsy/frontier/bolt/repair"
)

// Each loss makes a Salvage less than whole, and is reported.
func TestSalvage_ReportsEveryLoss(t *testing.T) {
	none := repair.Salvage{}
	assert.Truef(t, none.Whole() && strings.HasSuffix(none.String(), "nothing was lost"), "of no loss: %q", none)
	made := map[string]bool{"Pages": true, "Hosts": true, "URLs": true, "Closed": true, "Refused": true, "Seeds": true,
		"Blobs": true, "LetGo": true, "LedgerClosed": true, "LedgerAdded": true, "LedgerUnneeded": true}
	for i := range reflect.TypeFor[repair.Salvage]().NumField() {
		var s repair.Salvage
		name := reflect.TypeFor[repair.Salvage]().Field(i).Name
		switch v := reflect.ValueOf(&s).Elem().Field(i); v.Kind() {
		case reflect.Bool:
			v.SetBool(true)
		default:
			v.SetInt(1)
		}
		assert.Equalf(t, made[name], s.Whole(), "%s: whole", name)
		reported := s.String() != none.String()
		assert.Truef(t, reported || name == "Pages" || name == "LedgerUnneeded", "%s is not reported", name)
	}
}
