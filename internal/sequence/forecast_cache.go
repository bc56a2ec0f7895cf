package sequence

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"prospector/internal/turn"
)

// forecastCache keeps the forecasts of senders for a moment. An organization makes one at a time, whatever its
// callers do, and takes turns with other organizations meanwhile.
type forecastCache struct {
	mu   sync.Mutex
	orgs map[uuid.UUID]*orgForecasts
}

type orgForecasts struct {
	making  chan struct{} // has one place, for whoever makes a forecast
	users   int           // callers that make one or wait for it
	senders map[uuid.UUID]*forecast
}

func newForecastCache() *forecastCache { return &forecastCache{orgs: map[uuid.UUID]*orgForecasts{}} }

// get returns the forecast of a sender, and makes one if there is none that can be used. With mustBeCurrent, it
// returns one that is current.
func (c *forecastCache) get(ctx context.Context, x *engineTx, owner uuid.NullUUID, mustBeCurrent bool) (senderForecast, error) {
	settings := x.forecastSettings(owner.UUID)
	progress, err := x.forecastProgress(owner.UUID)
	if err != nil {
		return senderForecast{}, err
	}
	find := func() (senderForecast, bool) {
		f := c.find(x.tx.Org(), owner.UUID)
		if f == nil || f.settings != settings || f.isOld(x.tx.Now()) {
			return senderForecast{}, false
		}
		isCurrent := f.progress == progress
		return senderForecast{f, isCurrent}, isCurrent || !mustBeCurrent && len(f.first) > maxExact
	}
	if f, found := find(); found {
		return f, nil
	}
	c.dropOld(x.tx.Now())
	of, err := c.enter(ctx, x.tx.Org())
	if err != nil {
		return senderForecast{}, err
	}
	defer c.leave(x.tx.Org(), of)
	if f, found := find(); found { // somebody has made it meanwhile
		return f, nil
	}
	f, err := x.makeForecast(ctx, owner)
	if err != nil {
		return senderForecast{}, err
	}
	f.settings, f.progress, f.made = settings, progress, x.tx.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	of.senders[owner.UUID] = f
	return senderForecast{f, true}, nil
}

func (c *forecastCache) find(org, owner uuid.UUID) *forecast {
	c.mu.Lock()
	defer c.mu.Unlock()
	of := c.orgs[org]
	if of == nil {
		return nil
	}
	return of.senders[owner]
}

// enter waits until nobody else of the organization makes a forecast.
func (c *forecastCache) enter(ctx context.Context, org uuid.UUID) (*orgForecasts, error) {
	c.mu.Lock()
	of := c.orgs[org]
	if of == nil {
		of = &orgForecasts{making: make(chan struct{}, 1), senders: map[uuid.UUID]*forecast{}}
		c.orgs[org] = of
	}
	of.users++
	c.mu.Unlock()
	select {
	case of.making <- struct{}{}:
		return of, nil
	default:
	}
	turn.Of(ctx).Block()
	select {
	case of.making <- struct{}{}:
		return of, nil
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		of.users--
		return nil, context.Cause(ctx)
	}
}

func (c *forecastCache) leave(org uuid.UUID, of *orgForecasts) {
	<-of.making
	c.mu.Lock()
	defer c.mu.Unlock()
	of.users--
}

// dropOld drops the forecasts that can no longer be used.
func (c *forecastCache) dropOld(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for org, of := range c.orgs {
		for sender, f := range of.senders {
			if f.isOld(now) {
				delete(of.senders, sender)
			}
		}
		if of.users == 0 && len(of.senders) == 0 {
			delete(c.orgs, org)
		}
	}
}

func (f *forecast) isOld(now time.Time) bool { return now.Sub(f.made).Abs() >= forecastTime }
