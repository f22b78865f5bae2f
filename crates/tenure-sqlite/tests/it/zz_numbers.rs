use std::time::{Duration, Instant};
use tenure_core::contract::*;
use tenure_core::lease::*;
use crate::backend::*;
use crate::child::Child;
#[tokio::test]
async fn numbers() {
    let file = SqliteFile::start().await;
    let store = file.connect().await;
    let g = take(&store, "a", Duration::from_secs(60)).await;
    let mut t: Vec<Duration> = vec![];
    for n in 1..=1000 { let b = Instant::now(); store.renew(&g, &Renewal{number:n,presence:None}).await.unwrap(); t.push(b.elapsed()); }
    t.sort(); println!("renew p50 {:?} p99 {:?} max {:?}", t[500], t[990], t[999]);
    let mut t: Vec<Duration> = vec![];
    for _ in 0..1000 { let b = Instant::now(); store.try_acquire(&claim("a","b",Duration::from_secs(1))).await.unwrap(); t.push(b.elapsed()); }
    t.sort(); println!("held answer p50 {:?} p99 {:?}", t[500], t[990]);
    let mut t: Vec<Duration> = vec![];
    for _ in 0..500 { let b = Instant::now(); let g = take(&store, "c", Duration::from_secs(60)).await; store.release(&g).await.unwrap(); t.push(b.elapsed()); }
    t.sort(); println!("acquire+release p50 {:?} p99 {:?}", t[250], t[495]);
    let p = store.presence().unwrap();
    let s = p.open(unique(), Duration::from_secs(1)).await.unwrap();
    let f = Flag{lease: lease("x"), term: Term::FIRST, session: s.id()};
    s.raise(&f).await.unwrap();
    let mut t: Vec<Duration> = vec![];
    for _ in 0..1000 { let b = Instant::now(); s.ping().await.unwrap(); t.push(b.elapsed()); }
    t.sort(); println!("ping p50 {:?} p99 {:?}", t[500], t[990]);
    let mut t: Vec<Duration> = vec![];
    for _ in 0..30 {
        let mut c = Child::start("hold", &file.path());
        let line = c.line(); let (term, session) = line.split_once(' ').unwrap();
        let f = Flag { lease: lease("held"), term: Term::new(term.parse().unwrap()).unwrap(), session: session.parse().unwrap() };
        assert_eq!(p.watch(&f, Duration::from_millis(20)).await.unwrap(), Watch::StillUp);
        let b = Instant::now(); c.signal(nix::sys::signal::Signal::SIGKILL);
        assert_eq!(p.watch(&f, Duration::from_secs(9)).await.unwrap(), Watch::Fallen); t.push(b.elapsed());
        let mut n = claim("held","n",Duration::from_secs(60)); n.evidence = Some(Evidence{term:f.term,session:f.session});
        let Acquire::Granted(g) = store.try_acquire(&n).await.unwrap() else {panic!()}; store.release(&g).await.unwrap();
    }
    t.sort(); println!("kill to Fallen p50 {:?} max {:?}", t[15], t[29]);
}
