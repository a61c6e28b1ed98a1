//! The name server without a kernel: a client that sends ready-made queries and the responder in one worker,
//! joined by a memory port. What is left is what an answer itself costs.
//!
//! ```text
//!   ask -> client_out ==memory== server_in -> server -> server_out ==memory== client_in -> check
//! ```
//! Each module is timed; the server's share is that of its three, so the client's cost does not count.

use crate::in_memory::{self, CLIENT, CLIENT_MAC, SERVER, SERVER_MAC, drive, server_busy, stack};
use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tidegate_base::{Duration, Rng, Sum};
use tidegate_dns::answer::{Family, Policy};
use tidegate_dns::cookie::{CookieVerdict, Cookies};
use tidegate_dns::counters::DnsTally;
use tidegate_dns::message::{Edns, Opt};
use tidegate_dns::name::Name;
use tidegate_dns::rrl::{RateLimiter, RateLimits};
use tidegate_dns::store::StoreSize;
use tidegate_dns::udp::{Found, KeyForm, Mode, Question, Responder, Source, UdpConfig, Whole, zones};
use tidegate_dns::zone::{Catalog, file};
use tidegate_modules::{PortIn, PortOut, StackModule};
use tidegate_packet::{Batch, Frame, Pool};
use tidegate_pipeline::{Context, GateCounts, Graph, Module, PortIndex, Work, Worker};
use tidegate_stack::{Closed, Conn, ConnId, Datagram, FetchError, Payload, Service, Stack};
use tidegate_sys::clock;
use tidegate_wire::{EtherType, EthernetHeader, IpRepr, Protocol, ethernet, ipv4, udp};
use zerocopy::IntoBytes;

const HEADERS_LEN: usize = ethernet::HEADER_LEN + ipv4::HEADER_LEN + udp::HEADER_LEN;
/// Queries drawn beforehand; asked in this order, over and over.
const DRAWN_COUNT: usize = 1 << 20;
/// The zone's name.
const APEX: &[u8] = b"\x05bench\x07example\x00";
/// What the label of a name begins with that is not there.
const ABSENT: u8 = b'x';
/// Digits in a name.
const DIGIT_COUNT: usize = 7;

/// The name server alone
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Names in the zone
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10_000, 100_000, 1_000_000])]
    names: Vec<u32>,
    /// Batch lengths to try
    #[arg(long, value_delimiter = ',', default_values_t = [1, 8, 32, 64])]
    batches: Vec<usize>,
    /// The zone that batch lengths are tried with
    #[arg(long, default_value_t = 100_000)]
    batch_names: u32,
    /// Ask with EDNS, as resolvers do
    #[arg(long)]
    edns: bool,
    /// Ask with EDNS and a cookie, as resolvers do that have none of the server's yet (RFC 7873)
    #[arg(long)]
    cookie: bool,
    /// Ask for names that the zone does not have
    #[arg(long)]
    absent: bool,
    /// Have the engine answer each of these, and keep nothing that they have in common
    #[arg(long, requires = "absent")]
    one_by_one: bool,
    /// Count answers and limit their rate, to more than there is
    #[arg(long)]
    counted: bool,
    /// Only this mode: in-place, memcopy or pre-copy
    #[arg(long)]
    mode: Option<String>,
    /// Only these keys: wire or expanded
    #[arg(long)]
    keys: Option<String>,
    /// Only names drawn so: uniform or zipf
    #[arg(long)]
    asked: Option<String>,
    /// Milliseconds a slice
    #[arg(long, default_value_t = 20)]
    slice_ms: u64,
    /// Slices of a run, of which the median and the best are printed: what else the machine does only adds
    #[arg(long, default_value_t = 25)]
    slices: usize,
    /// The processor to run on
    #[arg(long, default_value_t = 1)]
    cpu: usize,
}

/// How likely which name is to be asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Popularity {
    /// All alike.
    Uniform,
    /// The nth most popular 1/n as often as the first.
    Zipf,
}

/// One row of the table.
#[derive(Clone, Copy)]
struct Case {
    name_count: u32,
    popularity: Popularity,
    key_form: KeyForm,
    mode: Mode,
    batch_len: usize,
}

/// What one case came to, in nanoseconds of the server's own modules an answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Row {
    pub(crate) name_count: u32,
    pub(crate) asked: String,
    pub(crate) keys: String,
    pub(crate) store: String,
    pub(crate) batch_len: usize,
    pub(crate) median_ns: f64,
    pub(crate) best_ns: f64,
}

impl Args {
    /// What stands beside a comparison with other servers: wire keys and names drawn alike, with EDNS as resolvers ask.
    pub(crate) fn beside_comparison() -> Self {
        Self {
            names: vec![1, 100_000, 1_000_000],
            batches: vec![1, 2, 4, 8, 16, 32, 64],
            batch_names: 100_000,
            edns: true,
            cookie: false,
            absent: false,
            one_by_one: false,
            counted: false,
            mode: None,
            keys: Some(keys_name(KeyForm::Wire).into()),
            asked: Some(asked_name(Popularity::Uniform).into()),
            slice_ms: 20,
            slices: 15,
            cpu: 1,
        }
    }
}

#[allow(clippy::print_stdout)] // its table is what a bench is for
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    println!(
        "{:>9} {:>8} {:>9} {:>9} {:>6} {:>10} {:>12} {:>10} {:>12}",
        "names", "asked", "keys", "store", "batch", "ns/answer", "answers/s", "best ns", "best a/s"
    );
    measure(args, print_row)?;
    Ok(())
}

/// Takes all cases, on the thread that calls, which stays on their processor; `on_row` sees each as it comes.
pub(crate) fn measure(args: &Args, on_row: impl Fn(&Row)) -> anyhow::Result<Vec<Row>> {
    ensure!(args.slices > 0, "nothing to run: give --slices");
    tidegate_sys::cpu::pin_current_thread(args.cpu)
        .with_context(|| format!("run on processor {}", args.cpu))?;
    let mut rows = Vec::new();
    let mut last: Option<(u32, Arc<Catalog>)> = None;
    for case in cases(args)? {
        let loaded = last.take().filter(|(name_count, _)| *name_count == case.name_count);
        let catalog = match loaded {
            Some((_, catalog)) => catalog,
            None => catalog(case.name_count)?,
        };
        last = Some((case.name_count, Arc::clone(&catalog)));
        let row = Row::new(case, &run_case(args, case, catalog)?);
        on_row(&row);
        rows.push(row);
    }
    Ok(rows)
}

fn cases(args: &Args) -> anyhow::Result<Vec<Case>> {
    let modes = [Mode::InPlace, Mode::MemCopy, Mode::PreCopy];
    let modes = chosen(args.mode.as_deref(), modes, mode_name).context("no such --mode")?;
    let key_forms = chosen(args.keys.as_deref(), [KeyForm::Wire, KeyForm::Expanded], keys_name);
    let popularities = chosen(args.asked.as_deref(), [Popularity::Uniform, Popularity::Zipf], asked_name);
    let (key_forms, popularities) =
        (key_forms.context("no such --keys")?, popularities.context("no such --asked")?);
    let mut cases = Vec::new();
    for &name_count in &args.names {
        for &popularity in &popularities {
            for &key_form in &key_forms {
                let case = |&mode| Case { name_count, popularity, key_form, mode, batch_len: 32 };
                cases.extend(modes.iter().map(case));
            }
        }
    }
    for &mode in &modes {
        let case = |&batch_len| Case {
            name_count: args.batch_names,
            popularity: Popularity::Uniform,
            key_form: KeyForm::Wire,
            mode,
            batch_len,
        };
        cases.extend(args.batches.iter().map(case));
    }
    Ok(cases)
}

/// All of them, or the one of that name.
fn chosen<T: Copy, const N: usize>(
    name: Option<&str>,
    all: [T; N],
    name_of: fn(T) -> &'static str,
) -> Option<Vec<T>> {
    match name {
        None => Some(all.to_vec()),
        Some(name) => Some(vec![all.into_iter().find(|one| name_of(*one) == name)?]),
    }
}

const fn asked_name(popularity: Popularity) -> &'static str {
    match popularity {
        Popularity::Uniform => "uniform",
        Popularity::Zipf => "zipf",
    }
}

const fn keys_name(key_form: KeyForm) -> &'static str {
    match key_form {
        KeyForm::Wire => "wire",
        KeyForm::Expanded => "expanded",
    }
}

const fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::InPlace => "in-place",
        Mode::MemCopy => "memcopy",
        Mode::PreCopy => "pre-copy",
    }
}

impl Row {
    /// `slices` are nanoseconds an answer, the best first.
    fn new(case: Case, slices: &[f64]) -> Self {
        Self {
            name_count: case.name_count,
            asked: asked_name(case.popularity).into(),
            keys: keys_name(case.key_form).into(),
            store: mode_name(case.mode).into(),
            batch_len: case.batch_len,
            median_ns: slices[slices.len() / 2],
            best_ns: slices[0],
        }
    }
}

#[allow(clippy::print_stdout)] // likewise
fn print_row(row: &Row) {
    let Row { name_count, asked, keys, store, batch_len, median_ns, best_ns } = row;
    println!(
        "{name_count:>9} {asked:>8} {keys:>9} {store:>9} {batch_len:>6} {median_ns:>10.1} {:>12.0} {best_ns:>10.1} {:>12.0}",
        1e9 / median_ns,
        1e9 / best_ns,
    );
}

/// Nanoseconds of the server's an answer in each slice, the best first.
fn run_case(args: &Args, case: Case, catalog: Arc<Catalog>) -> anyhow::Result<Vec<f64>> {
    let mut worker = worker(args, case, catalog)?;
    // Every name once, so that what is measured is the store and not its filling.
    while client(&mut worker)?.0.asked_count < u64::from(case.name_count) {
        worker.round(clock::now());
    }
    client(&mut worker)?.0.draw(case);
    drive(&mut worker, Duration::from_millis(args.slice_ms));
    let mut slices =
        (0..args.slices).map(|_| run_slice(args, &mut worker)).collect::<anyhow::Result<Vec<_>>>()?;
    slices.sort_by(f64::total_cmp);
    Ok(slices)
}

fn run_slice(args: &Args, worker: &mut Worker) -> anyhow::Result<f64> {
    let (before, busy) = (client(worker)?.1.answer_count, server_busy(worker));
    drive(worker, Duration::from_millis(args.slice_ms));
    let check = client(worker)?.1;
    let (answer_count, wrong_count) = (check.answer_count - before, check.wrong_count);
    ensure!(answer_count > 0 && wrong_count == 0, "{wrong_count} wrong answers: {:?}", worker.snapshot());
    Ok(server_busy(worker).saturating_sub(busy).as_nanos() as f64 / answer_count as f64)
}

/// The two ends of the client.
fn client(worker: &mut Worker) -> anyhow::Result<(&mut Ask, Check)> {
    let check = *worker.module_mut::<Check>("check").context("the client's end")?;
    Ok((worker.module_mut::<Ask>("ask").context("the client's beginning")?, check))
}

fn worker(args: &Args, case: Case, catalog: Arc<Catalog>) -> anyhow::Result<Worker> {
    let server = stack(SERVER_MAC, SERVER, NameServer(responder(args, case, catalog)?))?;
    let graph = graph(Ask::new(case, args), server)?;
    in_memory::worker(graph, case.batch_len)
}

fn responder(args: &Args, case: Case, catalog: Arc<Catalog>) -> anyhow::Result<Responder<Addresses>> {
    let store = StoreSize { byte_count_max: 1 << 30, entry_count: case.name_count as usize };
    let config = UdpConfig { key_form: case.key_form, mode: case.mode, store, ..UdpConfig::default() };
    let seed = tidegate_sys::random::u64()?;
    let cookies = Cookies::new(&[tidegate_sys::random::bytes()?]).context("a secret for cookies")?;
    let addresses = Addresses { catalog, cookies, has_families: !args.one_by_one };
    let mut responder = Responder::new(addresses, config, seed);
    if args.counted {
        responder.set_tally(Arc::new(DnsTally::default()));
        responder.set_limiter(Some(RateLimiter::new(&limits(), seed)));
    }
    Ok(responder)
}

/// Limits that nobody reaches here.
fn limits() -> RateLimits {
    RateLimits {
        per_second: [1_000_000_000; 5],
        all_per_second: 0,
        slip: 2,
        ipv4_prefix_len: 24,
        ipv6_prefix_len: 56,
        exempt: Vec::new(),
        bucket_count: RateLimits::BUCKET_COUNT,
    }
}

fn graph(ask: Ask, server: Stack<NameServer>) -> anyhow::Result<Graph> {
    let mut graph = Graph::new();
    let row =
        [graph.add("ask", Box::new(ask))?, graph.add("client_out", Box::new(PortOut::new(PortIndex(0))))?];
    graph.chain(&row)?;
    let row = [
        graph.add("server_in", Box::new(PortIn::new(PortIndex(1))))?,
        graph.add("server", Box::new(StackModule::new(server)))?,
        graph.add("server_out", Box::new(PortOut::new(PortIndex(1))))?,
    ];
    graph.chain(&row)?;
    let row = [
        graph.add("client_in", Box::new(PortIn::new(PortIndex(0))))?,
        graph.add("check", Box::new(Check::default()))?,
    ];
    graph.chain(&row)?;
    Ok(graph)
}

/// Emits as many queries a round as a batch has.
struct Ask {
    template: Vec<u8>,
    digits_at: usize,
    order: Vec<u32>,
    cursor: usize,
    asked_count: u64,
}

impl Ask {
    /// Asks for each name in turn.
    fn new(case: Case, args: &Args) -> Self {
        let mut query = b"\x00\x00\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x08h".to_vec();
        let digits_at = query.len() + HEADERS_LEN;
        if args.absent {
            query[digits_at - HEADERS_LEN - 1] = ABSENT;
        }
        query.extend([b'0'; DIGIT_COUNT]);
        query.extend(APEX);
        query.extend([0, 1, 0, 1]);
        if args.edns || args.cookie {
            query[11] = 1;
            query.extend([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);
        }
        if args.cookie {
            *query.last_mut().unwrap_or(&mut 0) = 12;
            query.extend(b"\x00\x0a\x00\x08a cookie");
        }
        let mut template = vec![0; HEADERS_LEN];
        template.extend(query);
        Self { template, digits_at, order: (0..case.name_count).collect(), cursor: 0, asked_count: 0 }
    }

    /// Asks for names drawn at random from now on.
    fn draw(&mut self, case: Case) {
        let mut rng = Rng::new(1);
        self.order = match case.popularity {
            Popularity::Uniform => uniform(case.name_count, &mut rng),
            Popularity::Zipf => zipf(case.name_count, &mut rng),
        };
        self.cursor = 0;
    }

    fn fill(&mut self, frame: &mut Frame) {
        let Some(name) = self.order.get(self.cursor).copied() else { return };
        self.cursor = if self.cursor + 1 < self.order.len() { self.cursor + 1 } else { 0 };
        self.asked_count += 1;
        if !frame.extend(&self.template) {
            return;
        }
        let (headers, query) = frame.data_mut().split_at_mut(HEADERS_LEN);
        query[..2].copy_from_slice(&(self.asked_count as u16).to_be_bytes());
        write_digits(name, &mut query[self.digits_at - HEADERS_LEN..][..DIGIT_COUNT]);
        emit_headers(headers, query);
    }
}

fn emit_headers(headers: &mut [u8], query: &[u8]) {
    let ip =
        IpRepr { src: CLIENT.into(), dst: SERVER.into(), protocol: Protocol::Udp, hop_limit: 64, ecn: 0 };
    let (link, rest) = headers.split_at_mut(ethernet::HEADER_LEN);
    let (ip_header, udp_header) = rest.split_at_mut(ipv4::HEADER_LEN);
    link.copy_from_slice(EthernetHeader::new(SERVER_MAC, CLIENT_MAC, EtherType::Ipv4).as_bytes());
    ip.emit(udp::HEADER_LEN + query.len(), ip_header);
    udp::UdpHeader::emit(&ip, 5353, 53, query.len(), Sum::of(query), udp_header);
}

fn write_digits(mut number: u32, to: &mut [u8]) {
    for digit in to.iter_mut().rev() {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
}

/// The number that a query's name has.
fn read_digits(query: &[u8]) -> u32 {
    let digits = query.get(14..14 + DIGIT_COUNT).unwrap_or_default();
    digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
}

fn uniform(name_count: u32, rng: &mut Rng) -> Vec<u32> {
    (0..DRAWN_COUNT).map(|_| (rng.next_u64() % u64::from(name_count)) as u32).collect()
}

/// The most popular names are strewn over the zone, as they are in life.
fn zipf(name_count: u32, rng: &mut Rng) -> Vec<u32> {
    let mut total = 0.0;
    let sums: Vec<f64> = (1..=name_count)
        .map(|rank| {
            total += 1.0 / f64::from(rank);
            total
        })
        .collect();
    let mut draw = || {
        let wanted = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * total;
        let rank = sums.partition_point(|sum| *sum < wanted) as u64;
        (rank * 2_654_435_761 % u64::from(name_count)) as u32
    };
    (0..DRAWN_COUNT).map(|_| draw()).collect()
}

impl Module for Ask {
    fn class(&self) -> &'static str {
        "ask"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SOURCE
    }

    fn process(&mut self, _: &mut Context<'_>, _: usize, _: &mut Batch) {}

    fn task_count(&self) -> usize {
        1
    }

    fn asks_room(&self) -> bool {
        true
    }

    fn run(&mut self, ctx: &mut Context<'_>, _: usize) -> Work {
        let count = ctx.batch_len().min(ctx.room(0));
        for _ in 0..count {
            let Some(mut frame) = ctx.pool().alloc() else { break };
            self.fill(&mut frame);
            ctx.emit(0, frame);
        }
        Work { packet_count: count, byte_count: 0 }
    }
}

/// Counts answers, and those that are not what was asked for.
#[derive(Clone, Copy, Default)]
struct Check {
    answer_count: u64,
    wrong_count: u64,
}

impl Module for Check {
    fn class(&self) -> &'static str {
        "check"
    }

    fn gates(&self) -> GateCounts {
        GateCounts::SINK
    }

    fn process(&mut self, ctx: &mut Context<'_>, _: usize, batch: &mut Batch) {
        for frame in batch.drain() {
            self.answer_count += 1;
            // One in some is looked at with care, so that the client does not take all the time.
            if self.answer_count.is_multiple_of(61) {
                self.wrong_count += u64::from(!is_right(frame.data()));
            }
            ctx.pool().free(frame);
        }
    }
}

/// Whether checksums hold and the one record has the address that the question's name stands for.
fn is_right(frame: &[u8]) -> bool {
    let packet = frame.get(ethernet::HEADER_LEN..).unwrap_or_default();
    let Ok((ip, body)) = IpRepr::parse(packet) else { return false };
    let Ok((header, answer)) = udp::UdpHeader::parse(body) else { return false };
    if answer.get(13) == Some(&ABSENT) {
        return header.checksum_ok(&ip, body) && answer.get(2..10) == Some(&[0x85, 3, 0, 1, 0, 0, 0, 1]);
    }
    let address = address_of(read_digits(answer)).to_be_bytes();
    header.checksum_ok(&ip, body)
        && answer.get(2..8) == Some(&[0x85, 0, 0, 1, 0, 1])
        && answer.get(40..56).is_some_and(|record| record[12..] == address)
}

const fn address_of(name: u32) -> u32 {
    0x0a00_0000 | name
}

/// A zone with an A record for each name.
fn catalog(name_count: u32) -> anyhow::Result<Arc<Catalog>> {
    use std::fmt::Write as _;
    let mut text = "$TTL 3600\n@ SOA ns admin 1 7200 900 1209600 300\n@ NS ns\nns A 192.0.2.1\n".to_string();
    for name in 0..name_count {
        writeln!(text, "h{name:07} A {}", Ipv4Addr::from(address_of(name)))?;
    }
    let apex = Name::from_wire(APEX).context("the zone's name")?;
    let loaded = file::read_text("bench", text.as_bytes(), apex)?;
    Ok(Arc::new(Catalog::new().with(Arc::new(loaded.zone))))
}

/// A zone answered by the engine.
struct Addresses {
    catalog: Arc<Catalog>,
    cookies: Cookies,
    has_families: bool,
}

/// When cookies are made, in seconds since 1970.
const UNIX_S: u32 = 1_700_000_000;

impl Source for Addresses {
    fn has_changed(&mut self) -> bool {
        false
    }

    fn family(&mut self, question: &Question<'_>) -> Option<Family> {
        if self.has_families { zones::family(&self.catalog, question) } else { None }
    }

    fn find<'a>(&mut self, question: &Question<'_>, size_max: usize, out: &'a mut [u8]) -> Option<Found<'a>> {
        zones::find(&self.catalog, &Policy::default(), question, size_max, out)
    }

    fn opt(
        &mut self,
        _: tidegate_base::Instant,
        edns: &Edns<'_>,
        client: IpAddr,
    ) -> (Opt<'_>, Option<CookieVerdict>) {
        let answered = edns.cookie.map(|cookie| self.cookies.answer(&cookie, client, UNIX_S));
        let (verdict, cookie) = answered.unzip();
        (Opt { cookie, ..Opt::new(1232, edns.dnssec_ok) }, verdict)
    }

    fn answer(&mut self, _: &[u8], _: SocketAddr, _: usize, _: &mut [u8]) -> Option<Whole> {
        None
    }
}

/// The responder as a service without TCP.
struct NameServer(Responder<Addresses>);

impl Service for NameServer {
    type Response = ();
    type State = ();

    fn on_accept(&mut self, _: SocketAddr, _: SocketAddr) -> bool {
        false
    }

    fn on_recv(&mut self, conn: &mut Conn<'_, Self>, _: &[u8]) {
        conn.abort();
    }

    fn on_closed(&mut self, _: ConnId, (): (), _: Closed) {}

    fn response_len((): &()) -> u64 {
        0
    }

    fn segment_len((): &(), _: u64, max: usize) -> usize {
        max
    }

    fn fetch(&mut self, (): &(), _: u64, _: usize, _: &mut Pool) -> Result<Payload, FetchError> {
        Err(FetchError::Gone)
    }

    fn on_datagrams(&mut self, now: tidegate_base::Instant, burst: &mut [Datagram], pool: &mut Pool) {
        self.0.on_datagrams(now, burst, pool);
    }
}
