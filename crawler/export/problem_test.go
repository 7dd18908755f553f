package export

import "testing"

// A page whose record is damaged is damaged, whatever its text is found to be before the end is reached.
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
		if got.Problem != c.want {
			t.Errorf("%q: %s, want %s", c.noted, got.Problem, c.want)
		}
	}
}
