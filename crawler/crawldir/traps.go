package crawldir

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"curtsy/crawler/scope"
	"curtsy/crawler/trap"
)

// trapConfig reads --trap: what the scope judges by the URL, and the limits of what needs a host's history.
func (s *Settings) trapConfig() (shapes map[string]int, limits trap.Limits, err error) {
	for _, t := range s.Traps {
		name, value, ok := strings.Cut(t, "=")
		n := 0
		if ok && value != "off" {
			n, err = strconv.Atoi(value)
			ok = err == nil && n > 0
		}
		if !ok {
			return nil, limits, misuse("--trap %q: write RULE=N or RULE=off", t)
		}
		name = strings.TrimPrefix(name, "trap:")
		if limits.Set(name, n) {
			continue
		}
		if _, known := scope.TrapDefaults()[name]; !known {
			return nil, limits, misuse("--trap %q: no such rule; there are %s", t, strings.Join(TrapNames(), ", "))
		}
		if shapes == nil {
			shapes = map[string]int{}
		}
		shapes[name] = n
	}
	if err := limits.Check(); err != nil {
		return nil, limits, misuse("--trap: %w", err)
	}
	return shapes, limits, nil
}

// TrapNames are the names of all rules that --trap knows, in order.
func TrapNames() []string {
	return slices.Sorted(slices.Values(append(slices.Collect(maps.Keys(scope.TrapDefaults())), trap.Names()...)))
}
