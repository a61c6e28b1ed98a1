//! Readers while a table is written: each finds a whole rule or none.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, RwLock};

use tidegate_base::Instant;
use tidegate_offload::lookup::{Image, Verdict};
use tidegate_offload::{
    Action, Capacity, Condition, GroupId, HeapMemory, Memory, Processor, PutError, Rule, RuleId, Table,
    Target,
};

const KEYS: u32 = 40;
const ROUNDS: u32 = 3000;
const GROUP: GroupId = GroupId(1);

/// Memory whose writer can wait for readers, as it can for the kernel's: each holds the lock while it looks.
struct Shared {
    heap: HeapMemory,
    readers: RwLock<()>,
}

impl Memory for Shared {
    fn page_count(&self) -> usize {
        self.heap.page_count()
    }
    fn load(&self, at: usize) -> u64 {
        self.heap.load(at)
    }
    fn store(&self, at: usize, word: u64) {
        self.heap.store(at, word);
    }
    fn replace(&self, at: usize, old: u64, new: u64) -> bool {
        self.heap.replace(at, old, new)
    }
    fn quiesce(&self) -> bool {
        drop(self.readers.write().expect("no reader panicked"));
        true
    }
}

/// What is answered to a key: the key, and a version as often as the reply is long.
fn rule(key: u32, version: u32) -> Rule {
    let len = 1 + version % 40;
    let versions = version.to_be_bytes().repeat(len as usize);
    Rule {
        conditions: vec![Condition::exact(0, key.to_be_bytes())],
        request_len: Some(8),
        action: Action::Answer(vec![
            Processor::Put { at: 4, bytes: versions },
            Processor::Copy { from: 0, len: 4, to: 0 },
        ]),
        group: GROUP,
        expires: None,
    }
}

fn read(shared: &Shared, key: u32) -> Option<u32> {
    let _reading = shared.readers.read().expect("the writer did not panic");
    let mut request = [0; 8];
    request[..4].copy_from_slice(&key.to_be_bytes());
    match Image::new(shared).serve(&request, Instant::ZERO) {
        Verdict::Answer { id: RuleId(_), reply } => {
            let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes"));
            let numbers: Vec<_> = reply.chunks(4).map(number).collect();
            assert_eq!(numbers[0], key, "the reply is to the request");
            let version = numbers[1];
            assert_eq!(numbers[1..], vec![version; 1 + version as usize % 40], "the reply is of one version");
            Some(version)
        }
        Verdict::Pass => None,
        Verdict::Invalidate { .. } => panic!("a key invalidates nothing"),
    }
}

fn table(shared: &Shared) -> Table<&Shared> {
    // Room for little more than is in use: places are taken again and again.
    let capacity = Capacity { rule_count: 200, record_bytes: 1 };
    Table::create(shared, capacity, 11).expect("a table")
}

fn shared() -> Shared {
    Shared { heap: HeapMemory::new(6), readers: RwLock::new(()) }
}

/// Runs `write` beside readers of all keys; how often they found something.
fn beside_readers(shared: &Shared, write: impl FnOnce()) -> u64 {
    let (is_over, found) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let hits = (0..KEYS).filter(|key| read(shared, *key).is_some()).count();
                    found.fetch_add(hits as u64, Ordering::Relaxed);
                }
            });
        }
        write();
        is_over.store(true, Ordering::Relaxed);
    });
    found.into_inner()
}

#[test]
fn replaced_rules_are_met_whole() {
    let shared = shared();
    let mut table = table(&shared);
    let ids: Vec<_> = (0..KEYS).map(|key| table.insert(&rule(key, 0)).expect("room")).collect();
    let found = beside_readers(&shared, || {
        for version in 1..ROUNDS {
            let key = version % KEYS;
            table.put(ids[key as usize], &rule(key, version)).expect("room");
            assert_eq!(read(&shared, key), Some(version), "a rule is met once it was put");
        }
    });
    assert!(found > 0);
}

#[test]
fn swapped_groups_are_met_whole() {
    let shared = shared();
    let mut table = table(&shared);
    beside_readers(&shared, || {
        for version in 1..ROUNDS / 20 {
            let staged = table.stage(GROUP).expect("a group");
            let ids: Vec<_> = (0..KEYS)
                .map(|key| table.insert_staged(&staged, &rule(key, version)).expect("room"))
                .collect();
            let before: Vec<_> = table.statuses().map(|(id, _)| id).filter(|id| !ids.contains(id)).collect();
            table.swap(staged).expect("nobody invalidates it");
            assert!((0..KEYS).all(|key| read(&shared, key) == Some(version)));
            for id in before {
                table.release(id);
            }
        }
    });
}

/// A value that is written goes through a request that invalidates; no reader may meet a value from before that afterwards. The
/// server does one thing after the other, so that what the agent asks it is answered from before the write or from behind it.
#[test]
fn no_stale_value_is_met_after_a_write() {
    let shared = shared();
    let mut table = table(&shared);
    let id = table.reserve().expect("room");
    let invalidation = Rule {
        conditions: vec![Condition::exact(0, "write")],
        request_len: None,
        action: Action::Invalidate(vec![Target::Rule(id)]),
        group: GroupId(0),
        expires: None,
    };
    table.insert(&invalidation).expect("room");
    let server = Mutex::new(0_u32);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // The server's clients: they write, and then must read what they wrote or later.
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let written = write(&shared, &server);
                    if let Some(version) = read(&shared, 0) {
                        assert!(version >= written, "{version} after {written} was acknowledged");
                    }
                }
            });
        }
        // The agent: it asks the server and offloads what it says.
        let mut put_count = 0;
        while put_count < ROUNDS {
            let ticket = table.ticket(id).expect("a place");
            let value = *server.lock().expect("no client panicked");
            match table.put_with(id, ticket, &rule(0, value)) {
                Ok(()) => put_count += 1,
                Err(PutError::Invalidated { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
}

/// The request on its way to the server, and what the server makes of it.
fn write(shared: &Shared, server: &Mutex<u32>) -> u32 {
    let mut value = server.lock().expect("nobody panicked");
    let _reading = shared.readers.read().expect("the writer did not panic");
    let passed = Image::new(shared).serve(b"write", Instant::ZERO);
    assert!(matches!(passed, Verdict::Invalidate { .. }));
    *value += 1;
    *value
}
