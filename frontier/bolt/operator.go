package bolt

import "context"

// operator does what people command: Retry and Steer. It works on the frontier as its callers do, takes mu for each batch
// of URLs and leaves it between two, and looks into the file without it. There is one command at a time.
type operator struct {
	f    *Frontier
	busy chan struct{} // holds one: whoever is in Retry or Steer
}

// begin waits until no other command of an operator is under way. Who gets nil calls end.
func (o *operator) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case o.busy <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// end ends a command.
func (o *operator) end() { <-o.busy }
