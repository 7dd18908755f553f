package text

import (
	"testing"

	"curtsy/storage/audit/finding"
)

func TestEveryCodeOfAnAuditHasWords(t *testing.T) {
	for _, c := range finding.Codes() {
		if codeWords[c] == "" {
			t.Errorf("%s has none", c)
		}
	}
	if len(codeWords) != len(finding.Codes()) {
		t.Error("words for codes that there are not")
	}
}
