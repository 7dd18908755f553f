package report

import "context"

// Duplicates are the pages that say the same as others, or nearly the same.
type Duplicates struct {
	Clusters int64     `json:"clusters"`
	Pages    int64     `json:"pages"`            // in clusters
	Largest  []Cluster `json:"largest"`          // the first maxClusters
	Failed   string    `json:"failed,omitempty"` // why there is no result
}

// Cluster is a set of pages each of which is like another one of it.
type Cluster struct {
	URL     string   `json:"representative"`
	Pages   int64    `json:"pages"`
	Copies  int64    `json:"copies"`           // that say the same word for word
	Least   float64  `json:"least_similarity"` // to the representative
	Samples []string `json:"samples"`
}

// maxClusters is how many clusters are named.
const maxClusters = 20

// duplicated adds the clusters of pages that say the same.
func (r *Report) duplicated(ctx context.Context, find func(context.Context) (Duplicates, error)) error {
	if find == nil || r.Host != "" {
		return nil
	}
	d, err := find(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		d = Duplicates{Failed: clean(err.Error())}
	}
	d.Largest = d.Largest[:min(len(d.Largest), maxClusters)]
	for i := range d.Largest {
		c := &d.Largest[i]
		c.URL, c.Samples = clean(c.URL), cleaned(c.Samples[:min(len(c.Samples), maxSamples)])
	}
	r.Duplicates = &d
	return nil
}
