package export

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCapture_DamageExplainsAllElse(t *testing.T) {
	for _, c := range []struct {
		noted []string
		want  string
	}{
		{[]string{ProblemUnparsed, ProblemDamaged}, ProblemDamaged},
		{[]string{ProblemDamaged, ProblemUnparsed}, ProblemDamaged},
		{[]string{ProblemBadCoding, ProblemNoMetadata}, ProblemBadCoding},
	} {
		var got Capture
		for _, p := range c.noted {
			got.amiss(p)
		}
		assert.Equal(t, c.want, got.Problem, c.noted)
	}
}
