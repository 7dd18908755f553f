package audittext

import "testing"

// The skew of hosts is said in words that a reader need not turn round: nobody is ahead by less than nothing.
func TestClocksAreAheadOrBehind(t *testing.T) {
	for want, all := range map[string][]float64{
		"those of 3 hosts agree with the archive's, as far as a field of whole seconds tells":                      {-0.4, -0.1, 1.9},
		"that of 1 host, against the archive's: 3.0 s behind":                                                      {-3},
		"that of 1 host, against the archive's: 2.0 s ahead":                                                       {2},
		"those of 2 hosts, against the archive's: from 3600.0 s behind to 0.2 s ahead, the middle one 0.2 s ahead": {-3600, 0.2},
		"those of 3 hosts, against the archive's: from 0.1 s ahead to 5.0 s ahead, the middle one 4.0 s ahead":     {0.1, 4, 5},
	} {
		if got := clockWords(all); got != want {
			t.Errorf("%v: %s", all, got)
		}
	}
}
