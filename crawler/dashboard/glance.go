package dashboard

import "time"

// Glance is what the dashboard knows of a crawl at one instant, for programs.
type Glance struct {
	Name string // of the source
	Look
	Err  error     // of the last look
	At   time.Time // of the last look that succeeded; zero before
	Rate float64   // exchanges a second, over the last ten
}

// Glances is what is known of each source. It asks nobody: Serve does, once a second, however many programs want to know.
func (s *Server) Glances() []Glance {
	all := make([]Glance, 0, len(s.watchers))
	for _, w := range s.watchers {
		all = append(all, w.glance())
	}
	return all
}

func (w *watcher) glance() Glance {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Glance{
		Name: w.source.Name(), Look: w.look, Err: w.err, At: w.at, Rate: w.fine.Over(10 * time.Second).Exchanges,
	}
}
